export { busContract, Heard } from './contract.ts';
export type { BusUnderTest } from './contract.ts';
export { freePorts } from './free-ports.ts';
export { startNatsServer } from './nats-server.ts';
export type { NatsServer } from './nats-server.ts';
export { startNatsCluster } from './nats-cluster.ts';
export type { NatsCluster, NatsNode } from './nats-cluster.ts';
export { Outsider } from './outsider.ts';
export { samples } from './samples.ts';
