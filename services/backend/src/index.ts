export { Backend, suspicionsOf } from './backend.ts';
export type { BackendOptions, ServerDefinitions, ServerLoad, UserOptions } from './backend.ts';
