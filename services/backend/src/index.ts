export { createBackend, suspicionsOf } from './create.ts';
export type { ServerLoad } from './backend.ts';
export type { Backend, BackendOptions, ServerDefinitions, UserOptions } from './create.ts';
