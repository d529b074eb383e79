export { SessionWorker } from './worker.ts';
export { endpointDefinitions } from './routing/endpoints.ts';
