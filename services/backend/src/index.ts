export { suspicionsOf } from './backend.ts';
export { createBackend } from './create.ts';
export type { Backend, BackendOptions, ServerDefinitions, ServerLoad, UserOptions } from './backend.ts';
