/** What is stored in JetStream lives on as many nodes as the cluster can spare, so that losing one loses nothing. */
import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

/** Survives the loss of one node (NATS, JetStream clustering: a majority of replicas has to be there). */
const clusterReplicas = 3;
/** JetStream's "insufficient resources" and "no suitable peers for placement": the cluster has fewer nodes. */
const tooFewNodes: readonly number[] = [10_005, 10_023, 10_074];

/** Creates something with the replicas that are possible. */
export async function withReplicas<Made>(connection: NatsConnection, create: (replicas: number) => Promise<Made>): Promise<Made> {
  if (connection.info?.cluster === undefined) return create(1);
  try {
    return await create(clusterReplicas);
  } catch (error) {
    if (error instanceof JetStreamApiError && tooFewNodes.includes(error.code)) return create(1);
    throw error;
  }
}
