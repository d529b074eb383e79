export { startActor } from './actor.ts';
export { backoffMs } from './backoff.ts';
export type { BackoffOptions } from './backoff.ts';
export { Bulkhead } from './bulkhead.ts';
export { DeadlineWheel } from './deadline.ts';
export type { Deadline } from './deadline.ts';
export { stopOnSignal } from './shutdown.ts';
export { surviveFaults } from './survive.ts';
export type { UncaughtKind } from './survive.ts';
