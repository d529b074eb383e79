/** Measurements of a process: its bus and its configuration. */
import type { Blocks, Bus } from '@omnibus/bus';
import { enabledServers, type Config } from '@omnibus/config';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Metrics } from '@omnibus/telemetry';
import type { ConfigHistory } from '@omnibus/admin/history';

/** Milliseconds between two measurements of the round trip to NATS. */
const measureMs = 5_000;

/** Keeps the metrics of the bus up to date. @returns a function that ends this. */
export function measureBus(bus: Bus, wheel: DeadlineWheel, metrics: Metrics): () => void {
  metrics.beforeScrape(() => {
    metrics.busConnected.set(bus.connected ? 1 : 0);
    metrics.busReconnects.set(bus.reconnects);
  });
  return bus.isShared
    ? repeat(wheel, measureMs, () => {
        if (bus.connected)
          bus.roundTrip().then(
            (ms) => metrics.busRoundTrip.observe(ms / 1_000),
            () => undefined,
          );
      })
    : () => undefined;
}

/** Keeps up to date whether the configuration that was read last is in use. */
export function measureConfig(history: Pick<ConfigHistory, 'state'>, metrics: Metrics): void {
  metrics.beforeScrape(() => {
    const { appliedAt, rejected } = history.state;
    metrics.configSuccessful.set(rejected === undefined ? 1 : 0);
    metrics.configAppliedAt.set(Date.parse(appliedAt) / 1_000);
  });
}

/** Keeps up to date which servers are paused. */
export function measurePauses(blocks: Blocks, config: () => Config, metrics: Metrics): void {
  metrics.beforeScrape(() =>
    metrics.upstream.paused(
      enabledServers(config()).keys(),
      new Set(blocks.all.filter(({ isPause }) => isPause === true).map(({ name }) => name)),
    ),
  );
}

/** Calls `run` now and every `everyMs`. @returns a function that ends this. */
export function repeat(wheel: DeadlineWheel, everyMs: number, run: () => void): () => void {
  let next: Deadline | undefined;
  const again = (): void => {
    next = wheel.schedule(everyMs, again);
    run();
  };
  again();
  return () => next?.cancel();
}
