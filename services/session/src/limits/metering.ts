/** What one worker counts, limits and blocks, put together. */
import { Blocks, quotaBuckets, usageBucket, type Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { CallGate } from './call-gate.ts';
import { Limiter } from './limiter.ts';
import { Quotas } from './quotas.ts';
import { compileRules } from './rules.ts';
import { Usage } from './usage.ts';

export interface MeteringOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly worker: WorkerId;
  /** Session workers that are there. */
  readonly workers: () => number;
}

export class Metering {
  readonly gate: CallGate;
  readonly #blocks: Blocks;
  readonly #limiter: Limiter;
  readonly #usage: Usage;

  static async open(options: MeteringOptions): Promise<Metering> {
    const { bus, wheel, log, metrics, worker, workers, config } = options;
    const [day, month, store, blocks] = await Promise.all([bus.keyValue(quotaBuckets.day), bus.keyValue(quotaBuckets.month), bus.keyValue(usageBucket), Blocks.open(bus)]);
    const quotas = new Quotas({ bucket: (window) => (window === 'day' ? day : month), workers });
    const limiter = new Limiter({ bus, wheel, worker, metrics, quotas, isShared: bus.isShared });
    limiter.apply(compileRules(config.limits.rules));
    metrics.beforeScrape(() => {
      metrics.limitKeys.set({ table: 'rates' }, limiter.rates.size);
      metrics.limitKeys.set({ table: 'running' }, limiter.running.size);
      metrics.limitKeys.set({ table: 'quotas' }, quotas.size);
    });
    return new Metering(blocks, limiter, new Usage({ store, worker, wheel, log }));
  }

  private constructor(blocks: Blocks, limiter: Limiter, usage: Usage) {
    this.#blocks = blocks;
    this.#limiter = limiter;
    this.#usage = usage;
    this.gate = new CallGate({ limiter, usage, blocks });
  }

  /** @param blocked hears that something is blocked from now on. */
  async start(blocked: (blocks: Blocks) => void): Promise<void> {
    this.#blocks.onChanged((added) => {
      if (added !== undefined) blocked(this.#blocks);
    });
    this.#usage.start();
    await this.#limiter.start();
  }

  apply(config: Config): void {
    this.#limiter.apply(compileRules(config.limits.rules));
  }

  async stop(): Promise<void> {
    this.#blocks.close();
    await Promise.all([this.#limiter.stop(), this.#usage.stop()]);
  }
}
