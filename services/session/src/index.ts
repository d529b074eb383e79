export { createSessionWorker } from './create.ts';
export type { SessionWorker } from './worker.ts';
export { Sealer } from './public-ids/sealer.ts';
