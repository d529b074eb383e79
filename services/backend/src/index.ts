export { Backend } from './backend.ts';
export type { ServerDefinitions } from './backend.ts';
