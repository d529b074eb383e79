/** Assembles the limits, use counters, blocks and approvals of one worker. */
import { Blocks, openingAdvice, quotaBuckets, usageBucket, type Bus, type KeyValue } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { QuotaRecord, WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Approvals } from '../approvals/approvals.ts';
import type { ApproverDesk } from '../approvals/approver-desk.ts';
import { openApprovals, type OpenedApprovals } from '../approvals/open-approvals.ts';
import { CallGate } from './call-gate.ts';
import { Limiter } from './limiter.ts';
import { Quotas, type Window } from './quotas.ts';
import { compileRules } from './rules.ts';
import { TaskPlaces } from './task-places.ts';
import { Usage } from './usage.ts';

const stopMs = 2_000;

export interface MeteringOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly worker: WorkerId;
  /** The number of session workers. */
  readonly workers: () => number;
}

export class Metering {
  readonly gate: CallGate;
  readonly #blocks: Blocks | undefined;
  readonly #limiter: Limiter;
  readonly #usage: Usage | undefined;
  readonly #wheel: DeadlineWheel;
  readonly #approvals: OpenedApprovals;

  static async open(options: MeteringOptions): Promise<Metering> {
    const { bus, wheel, log, metrics, worker, workers, config } = options;
    // If NATS has no room for a bucket or forbids it, for example since its permissions are of an older version, calls are served without it.
    const opened = async <Made>(what: string, opening: Promise<Made>): Promise<Made | undefined> =>
      opening.catch((error: unknown) => {
        log.error({ what, problem: String(error) }, `this cannot be opened on the bus: ${openingAdvice(error)}`);
        return undefined;
      });
    const [day, month, store, blocks] = await Promise.all([
      opened('quotas of a day', bus.keyValue(quotaBuckets.day)),
      opened('quotas of a month', bus.keyValue(quotaBuckets.month)),
      opened('what callers use', bus.keyValue(usageBucket)),
      opened('blocks', Blocks.open(bus)),
    ]);
    const bucket = (window: Window): KeyValue<QuotaRecord> => {
      const found = window === 'day' ? day : month;
      if (found === undefined) throw new Error('the quotas could not be opened');
      return found;
    };
    const quotas = new Quotas({ bucket, workers });
    const limiter = new Limiter({ bus, wheel, worker, metrics, quotas, isShared: bus.isShared });
    limiter.apply(compileRules(config.limits.rules));
    metrics.beforeScrape(() => {
      metrics.limitKeys.set({ table: 'tasks' }, made.gate.tasks.size);
      metrics.limitKeys.set({ table: 'rates' }, limiter.rates.size);
      metrics.limitKeys.set({ table: 'running' }, limiter.running.size);
      metrics.limitKeys.set({ table: 'quotas' }, quotas.size);
    });
    const approvals = openApprovals({ bus, wheel, log, metrics, limits: config.limits, worker, config });
    const made: Metering = new Metering(
      blocks,
      limiter,
      store === undefined ? undefined : new Usage({ store, worker, wheel, log }),
      wheel,
      approvals,
    );
    return made;
  }

  private constructor(
    blocks: Blocks | undefined,
    limiter: Limiter,
    usage: Usage | undefined,
    wheel: DeadlineWheel,
    approvals: OpenedApprovals,
  ) {
    this.#approvals = approvals;
    this.#wheel = wheel;
    this.#blocks = blocks;
    this.#limiter = limiter;
    this.#usage = usage;
    this.gate = new CallGate({ limiter, usage, blocks, tasks: new TaskPlaces(wheel) });
  }

  /** @param blocked called when something is newly blocked. */
  async start(blocked: (blocks: Blocks) => void): Promise<void> {
    const blocks = this.#blocks;
    blocks?.onChanged((added) => {
      if (added !== undefined) blocked(blocks);
    });
    this.#usage?.start();
    await this.#limiter.start();
    await this.approverDesk?.start();
  }

  get approvals(): Approvals {
    return this.#approvals.approvals;
  }

  get approverDesk(): ApproverDesk | undefined {
    return this.#approvals.desk;
  }

  apply(config: Config): void {
    this.#limiter.apply(compileRules(config.limits.rules));
  }

  /** Gives leases back within a short time limit; the rest is lost until the day or month is over. */
  async stop(): Promise<void> {
    this.#blocks?.close();
    this.#approvals.stop();
    this.gate.tasks.stop();
    await this.#wheel.isDoneWithin(stopMs, Promise.all([this.#limiter.stop(), this.#usage?.stop()]));
  }
}
