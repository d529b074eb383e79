export { SessionWorker } from './worker.ts';
