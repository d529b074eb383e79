export { busContract, Heard } from './contract.ts';
export type { BusUnderTest } from './contract.ts';
export { startNatsServer } from './nats-server.ts';
export type { NatsServer } from './nats-server.ts';
