/**
 * Creates streams in JetStream with as many replicas as the cluster allows, so that the loss of a node loses nothing, and waits while the cluster has no
 * leader.
 */
import { jetstreamManager, JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';
import { managerOptions, type NatsPlace } from './place.ts';

/** Survives the loss of one node, since JetStream needs a majority of the replicas (NATS, JetStream clustering). */
const clusterReplicas = 3;
/** JetStream's "insufficient resources", "no suitable peers for placement" and "replicas > 1 not supported in non-clustered mode". */
const tooFewNodes: readonly number[] = [10_005, 10_023, 10_074];
/** JetStream's "resource limits exceeded for account", "no suitable peers for placement", "insufficient resources", "insufficient memory" and "insufficient storage": of a stream with one replica they mean that there is no room for it. */
const noRoom: readonly number[] = [10_002, 10_005, 10_023, 10_028, 10_047];
const retryMs = 500;
/** Longest wait: a cluster that has lost a node normally elects a new leader much sooner. */
const giveUpMs = 30_000;
/** Pause between two attempts to give a stream its missing replicas; it doubles. */
const growMs = { first: 250, longest: 10_000 };

interface WantedStream {
  /** Its name in JetStream. */
  readonly stream: string;
  /** What it reserves of the storage, where it reserves some. */
  readonly reservedBytes?: number | undefined;
}

/**
 * Creates a stream with as many replicas as are possible now; missing ones are added when they become possible.
 * @param place of JetStream: only at the server that we are connected to can be seen whether it has several nodes.
 * @throws {BusError} `timeout` when JetStream does not answer, or is not there; `overloaded` when it has no room for the stream.
 */
export async function withReplicas<Made>(
  connection: NatsConnection,
  place: NatsPlace,
  { stream, reservedBytes }: WantedStream,
  create: (replicas: number) => Promise<Made>,
): Promise<Made> {
  const giveUpAt = performance.now() + giveUpMs;
  let replicas = hasOneNode(connection, place) ? 1 : clusterReplicas;
  for (;;) {
    try {
      const made = await create(replicas);
      void grow(connection, place, stream);
      return made;
    } catch (error) {
      if (!(error instanceof JetStreamApiError) && place.domain === undefined && connection.info?.jetstream !== true)
        throw new BusError('timeout', 'the NATS server has no JetStream: start it with -js', error);
      const isLate = performance.now() > giveUpAt;
      // With status 503 there may be room when a node is back.
      if (
        error instanceof JetStreamApiError &&
        replicas === 1 &&
        noRoom.includes(error.code) &&
        (isLate || error.status !== 503)
      )
        throw roomless(stream, reservedBytes, error);
      if (isLate) throw new BusError('timeout', `JetStream is not available: ${String(error)}`, error);
      if (error instanceof JetStreamApiError && tooFewNodes.includes(error.code) && replicas > 1) replicas = 1;
      else if (error instanceof JetStreamApiError && error.status !== 503) throw error;
      else await pause(retryMs);
    }
  }
}

function roomless(stream: string, reservedBytes: number | undefined, error: JetStreamApiError): BusError {
  const reserved = reservedBytes === undefined ? '' : `, which reserves ${Math.ceil(reservedBytes / 1_048_576)} MiB`;
  return new BusError(
    'overloaded',
    `JetStream has no room for the stream ${stream}${reserved} (${error.message}): give it more storage (max_file_store of the server, max_file of the account)`,
    error,
  );
}

function hasOneNode({ info }: NatsConnection, { domain }: NatsPlace): boolean {
  return domain === undefined && info?.cluster === undefined;
}

/** Adds missing replicas: the stream may have been created while nodes were missing, as at the start of a cluster, or before there was a cluster. */
async function grow(connection: NatsConnection, place: NatsPlace, stream: string): Promise<void> {
  for (let waitMs = growMs.first; !connection.isClosed(); waitMs = Math.min(2 * waitMs, growMs.longest)) {
    try {
      if (!hasOneNode(connection, place)) {
        const manager = await jetstreamManager(connection, managerOptions(place));
        const { config } = await manager.streams.info(stream);
        if (config.num_replicas < clusterReplicas)
          await manager.streams.update(stream, { num_replicas: clusterReplicas });
        return;
      }
    } catch {
      // Not possible now; the stream works with the replicas it has.
    }
    await pause(waitMs);
  }
}

/** A pause that keeps no process alive. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
