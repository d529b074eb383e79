export { SessionWorker } from './worker.ts';
export { Sealer } from './public-ids/sealer.ts';
