export { Backend } from './backend.ts';
export type { ServerDefinitions, ServerLoad, UserOptions } from './backend.ts';
