/**
 * Sets NATS up: creates the streams of the gateway that are missing, and updates those that differ from what this version wants. It can be repeated, also while
 * processes run. No other part of the gateway needs the permission to create or update streams.
 */
import { jetstreamManager, JetStreamApiError, type JetStreamManager, type StreamConfig } from '@nats-io/jetstream';
import type { LedgerDefinition } from '../bus.ts';
import { BusError } from '../errors.ts';
import { connectNats, type NatsOptions } from './connect.ts';
import { clusterReplicas, isRefused, isStreamMissing, withReplicas, type Lack } from './jetstream.ts';
import { inboxOf } from './permissions.ts';
import { managerOptions, usualPlace } from './place.ts';
import { allStreams, type WantedStream } from './streams.ts';

export interface SetUpStep {
  readonly stream: string;
  readonly did: 'created' | 'updated' | 'left' | 'failed';
  /** Options that were changed. */
  readonly changed: readonly string[];
  readonly problem?: string;
}

/** Members that a stream must not have: with each of these, foreign messages enter it, or its messages leave it. */
const foreign = ['mirror', 'sources', 'republish', 'subject_transform'] as const;
/** NATS does not take these back once they are set. */
const final: readonly string[] = ['deny_delete', 'deny_purge'];
/** Members that are fixed at creation: processes of an older version may use them, or NATS cannot change them. */
const kept: readonly string[] = ['name', 'allow_direct', 'storage', 'retention', 'max_consumers', 'num_replicas'];

/** Milliseconds between two reports that nodes are missing. */
const sayMs = 5_000;

export interface SetUpOptions extends Omit<NatsOptions, 'inboxPrefix'> {
  /** Replicas of each stream on a cluster. Default: 3. */
  readonly replicas?: number | undefined;
}

/**
 * Waits for `connectTimeoutMs` in all for the nodes of a cluster, and not at all for room in nodes that are full. A stream that then lacks replicas is
 * there and works, and counts as failed: running this again, when the nodes are there or have room, gives it the others.
 * @param ledger the audit, if a stream stores it.
 * @throws {BusError} as `connectNats` does.
 */
export async function setUpNats(
  options: SetUpOptions,
  ledger: LedgerDefinition | undefined,
): Promise<readonly SetUpStep[]> {
  const { place = usualPlace, connectTimeoutMs, waiting, replicas: count = clusterReplicas } = options;
  const connection = await connectNats({ ...options, inboxPrefix: inboxOf('setup') });
  const patientUntil = performance.now() + connectTimeoutMs;
  let saidAt = -Infinity;
  const waits = (): boolean => {
    const now = performance.now();
    if (now >= patientUntil) return false;
    if (now - saidAt >= sayMs) {
      saidAt = now;
      waiting?.(`fewer than ${count} nodes of NATS with JetStream answer`);
    }
    return true;
  };
  try {
    const manager = await jetstreamManager(connection, managerOptions(place));
    const steps: SetUpStep[] = [];
    for (const wanted of allStreams(place, ledger)) {
      try {
        const make = async (replicas: number, lack: Lack | undefined): Promise<SetUpStep> => {
          const { had, ...step } = await setUp(manager, wanted, replicas);
          const has = Math.max(had, replicas);
          return lack !== undefined && has < count
            ? { ...step, did: 'failed', problem: fewReplicas(has, count, lack) }
            : step;
        };
        steps.push(await withReplicas(connection, place, wanted, make, { count, waits }));
      } catch (error) {
        steps.push({ stream: wanted.name, did: 'failed', changed: [], problem: problemOf(error) });
        // The others would wait as long, for nothing.
        if (error instanceof BusError && error.kind === 'timeout') break;
      }
    }
    return steps;
  } finally {
    await connection.close();
  }
}

function fewReplicas(has: number, wants: number, lack: Lack): string {
  const there = `it is there and works, with ${has} of ${wants} replicas`;
  return lack === 'room'
    ? `${there}, since nodes of NATS have no room for the others: give each node more storage (max_file_store), and run this again`
    : `${there}, since nodes of NATS are missing: run this again when they are there, or with --replicas ${has} if there are no more`;
}

/** @returns the action, and the earlier number of replicas. */
async function setUp(
  manager: JetStreamManager,
  wanted: WantedStream,
  replicas: number,
): Promise<SetUpStep & { readonly had: number }> {
  const found = await manager.streams.info(wanted.name).catch((error: unknown) => {
    if (!isStreamMissing(error)) throw error;
    return undefined;
  });
  const stream = wanted.name;
  if (found === undefined) {
    await manager.streams.add({ ...wanted, num_replicas: replicas });
    return { stream, did: 'created', changed: [], had: 0 };
  }
  const { config } = found;
  const had = config.num_replicas;
  const changes = differences(config, wanted);
  for (const each of foreign) if (config[each] !== undefined && config[each] !== null) changes[each] = undefined;
  if (had < replicas) changes['num_replicas'] = replicas;
  const changed = Object.keys(changes);
  if (changed.length === 0) return { stream, did: 'left', changed, had };
  await manager.streams.update(stream, changes as Partial<StreamConfig>);
  return { stream, did: 'updated', changed, had };
}

/** The options that are to be changed. */
function differences(config: StreamConfig, wanted: WantedStream): Record<string, unknown> {
  const present = config as unknown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(wanted).filter(
      ([name, value]) =>
        !kept.includes(name) &&
        !(final.includes(name) && present[name] === true) &&
        !(name === 'allow_rollup_hdrs' && value === true && present['deny_purge'] === true) &&
        JSON.stringify(present[name] ?? false) !== JSON.stringify(value),
    ),
  );
}

function problemOf(error: unknown): string {
  if (isRefused(error))
    return 'NATS does not let this user create and update it: does the user have the permissions of "setup" (omnibus nats-permissions)?';
  if (error instanceof BusError) return error.message;
  return error instanceof JetStreamApiError ? `NATS refuses: ${error.message}` : String(error);
}
