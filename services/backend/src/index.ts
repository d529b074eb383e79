export { Backend } from './backend.ts';
export type { ServerDefinitions, UserOptions } from './backend.ts';
