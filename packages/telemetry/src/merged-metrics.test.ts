import { expect, it } from 'vitest';
import { mergedMetrics, type MetricsSnapshot } from './merged-metrics.ts';
import { Metrics } from './metrics.ts';

it('metrics of several processes have one description, and a label for the worker', async () => {
  const [own, worker] = [new Metrics({ processMetrics: false }), new Metrics({ processMetrics: false })];
  own.describe('supervisor');
  worker.describe('all');
  worker.unreadable('session');
  worker.busRoundTrip.observe(0.01);
  // As JSON, it comes from another process.
  const sent = JSON.parse(JSON.stringify(await worker.snapshot())) as MetricsSnapshot;
  const text = await mergedMetrics(await own.snapshot(), [
    { worker: '0', metrics: sent },
    { worker: '1', metrics: sent },
  ]);
  expect(text.match(/^# TYPE omnibus_build_info gauge$/gm)).toHaveLength(1);
  expect(text).toMatch(/^omnibus_build_info\{.*role="supervisor",worker="supervisor"\} 1$/m);
  for (const of of ['0', '1']) expect(text).toMatch(new RegExp(`="session",worker="${of}"\\} 1$`, 'm'));
  expect(text).toMatch(/^omnibus_bus_round_trip_seconds_bucket\{.*le="\+Inf".*\} 1$/m);
});
