import { expect, it, vi } from 'vitest';
import type { ServerName } from '@omnibus/protocol';
import { Metrics } from './metrics.ts';

it('a server that is tried again and again is down since its fault, not since the last attempt', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000 });
  const { upstream } = new Metrics({ processMetrics: false });
  const name = 'jira' as ServerName;
  const since = (state: Parameters<typeof upstream.state>[1], at: number): number | undefined => {
    vi.setSystemTime(at);
    upstream.state(name, state);
    return upstream.stateOf(name)?.since;
  };
  expect(since('connecting', 1_000)).toBe(1_000);
  expect(since('ready', 2_000)).toBe(2_000);
  expect(since('backoff', 5_000)).toBe(5_000);
  expect(since('connecting', 6_000)).toBe(5_000);
  expect(since('backoff', 7_000)).toBe(5_000);
  expect(since('ready', 9_000)).toBe(9_000);
  vi.useRealTimers();
});

it('a server that was removed is in no series, and nothing that still counts for it brings it back', async () => {
  const { upstream, registry } = new Metrics({ processMetrics: false });
  const name = 'jira' as ServerName;
  const meter = upstream.callMeter(name);
  meter.finished('result', 1, undefined);
  meter.finished('result', 1, 'search');
  upstream.signInsWanted(name, 1);
  expect(await registry.metrics()).toContain('jira');
  meter.finished('result', 1, 'search');
  upstream.forget(name);
  expect(await registry.metrics()).not.toContain('jira');
  // A call of its adapter, which drains.
  meter.finished('result', 1, 'search');
  expect(await registry.metrics()).not.toContain('jira');
});
