/**
 * What is stored in JetStream lives on as many nodes as the cluster can spare, so that losing one loses nothing; and it is
 * waited for while the cluster has no leader.
 */
import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';

/** Survives the loss of one node (NATS, JetStream clustering: a majority of replicas has to be there). */
const clusterReplicas = 3;
/** JetStream's "insufficient resources", "no suitable peers for placement" and "replicas > 1 not supported in non-clustered mode". */
const tooFewNodes: readonly number[] = [10_005, 10_023, 10_074];
const retryMs = 500;
/** A cluster that has lost a node has a leader again long before. */
const giveUpMs = 30_000;

/**
 * Creates something with the replicas that are possible.
 * @throws {BusError} `timeout` when JetStream does not answer, or is not there.
 */
export async function withReplicas<Made>(connection: NatsConnection, create: (replicas: number) => Promise<Made>): Promise<Made> {
  const giveUpAt = performance.now() + giveUpMs;
  let replicas = connection.info?.cluster === undefined ? 1 : clusterReplicas;
  for (;;) {
    try {
      return await create(replicas);
    } catch (error) {
      if (!(error instanceof JetStreamApiError) && connection.info?.jetstream !== true) throw new BusError('timeout', 'the NATS server has no JetStream: start it with -js', error);
      if (performance.now() > giveUpAt) throw new BusError('timeout', `JetStream is not available: ${String(error)}`, error);
      if (error instanceof JetStreamApiError && tooFewNodes.includes(error.code) && replicas > 1) replicas = 1;
      else if (error instanceof JetStreamApiError && error.status !== 503) throw error;
      else await new Promise<void>((resolve) => {
        setTimeout(resolve, retryMs);
      });
    }
  }
}
