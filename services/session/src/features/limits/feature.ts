/** Limits and quotas of callers, and their usage. */
import { openingAdvice, quotaBuckets, usageBucket, type KeyValue } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { Proofs } from '@omnibus/identity';
import type { QuotaRecord, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { Barrier } from '../../call/barrier.ts';
import { mayKnowCallers } from '../../call/client-of.ts';
import type { Gate } from '../../call/gates.ts';
import type { SessionFeature, WorkerParts } from '../../feature.ts';
import { CallGate } from './call-gate.ts';
import { limitGate } from './gate.ts';
import { Limiter } from './limiter.ts';
import { Quotas, type Window } from './quotas.ts';
import { compileRules } from './rules.ts';
import { TaskPlaces } from './task-places.ts';
import { taskWatch } from './task-watch.ts';
import { Usage } from './usage.ts';

const stopMs = 2_000;

export interface LimitsOptions extends WorkerParts {
  readonly worker: WorkerId;
  /** The number of session workers. */
  readonly workers: () => number;
  readonly proofs: Proofs | undefined;
  readonly barrier: Barrier;
  /** The gate at which a call goes on that has changed while it waited for a part of a quota. */
  readonly onceMore: Gate | undefined;
}

export async function openLimits(options: LimitsOptions): Promise<SessionFeature> {
  const { bus, wheel, log, metrics, worker, workers, config, proofs, barrier, onceMore } = options;
  const [day, month, store] = await Promise.all([
    opened(log, 'quotas of a day', bus.keyValue(quotaBuckets.day)),
    opened(log, 'quotas of a month', bus.keyValue(quotaBuckets.month)),
    opened(log, 'what callers use', bus.keyValue(usageBucket)),
  ]);
  const bucket = (window: Window): KeyValue<QuotaRecord> => {
    const found = window === 'day' ? day : month;
    if (found === undefined) throw new Error('the quotas could not be opened');
    return found;
  };
  const quotas = new Quotas({ bucket, workers });
  const limiter = new Limiter({ bus, wheel, worker, metrics, quotas, isShared: bus.isShared });
  const usage = store === undefined ? undefined : new Usage({ store, worker, wheel, log });
  const tasks = new TaskPlaces(wheel);
  const limits = new CallGate({ limiter, usage });
  const apply = ({ limits: { rules }, mcpServers }: Config): void => limiter.apply(compileRules(rules, mcpServers));
  apply(config);
  metrics.beforeScrape(() => {
    metrics.limitKeys.set({ table: 'tasks' }, tasks.size);
    metrics.limitKeys.set({ table: 'rates' }, limiter.rates.size);
    metrics.limitKeys.set({ table: 'running' }, limiter.running.size);
    metrics.limitKeys.set({ table: 'quotas' }, quotas.size);
  });
  const mayKnow = mayKnowCallers(config, proofs);
  return {
    name: 'limits',
    // Use is counted by caller, and a task keeps its place until it ends, whatever becomes of the limit.
    get isOn() {
      return limiter.hasRules || mayKnow || tasks.size > 0;
    },
    gates: [limitGate(limits, onceMore)],
    watchers: [taskWatch(tasks, barrier)],
    resultGate: {
      begin: (caller, server, name) => {
        const facts = Proofs.factsOf(caller, proofs);
        return limits.begin({ caller, facts, server, kind: 'tool', name, isFetch: true });
      },
    },
    runGate: {
      begin: (caller, server, name) =>
        limiter.hasRules
          ? limits.begin({ caller, facts: Proofs.factsOf(caller, proofs), server, kind: 'tool', name, isRun: true })
          : undefined,
    },
    apply,
    hear: (notice) => tasks.noticed(notice),
    sessionEnded: (key) => tasks.sessionEnded(key),
    start: async () => {
      usage?.start();
      await limiter.start();
    },
    // Gives leases back within a short time limit; the rest is lost until the day or month is over.
    stop: async () => {
      tasks.stop();
      await wheel.isDoneWithin(stopMs, Promise.all([limiter.stop(), usage?.stop()]));
    },
  };
}

/** If NATS has no room for a bucket or forbids it, for example since its permissions are of an older version, calls are served without it. */
async function opened<Made>(log: Logger, what: string, opening: Promise<Made>): Promise<Made | undefined> {
  return opening.catch((error: unknown) => {
    log.error({ what, problem: String(error) }, `this cannot be opened on the bus: ${openingAdvice(error)}`);
    return undefined;
  });
}
