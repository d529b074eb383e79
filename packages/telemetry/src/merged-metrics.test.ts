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

it('no metric of Node is left out', async () => {
  const metrics = await new Metrics({ processMetrics: true }).snapshot();
  const text = await mergedMetrics(metrics, [{ worker: '0', metrics }]);
  for (const { name } of metrics) expect(text).toContain(`# TYPE ${name} `);
  expect(text.match(/^process_start_time_seconds\{/gm)).toHaveLength(2);
});
