/** An MCP client over a pair of streams, for commands and for the console, and what a failed request means for its user. */
export { exits } from './exit-codes.ts';
export type { Exit } from './exit-codes.ts';
export { LineClient } from './line-client.ts';
export type { RequestOptions } from './line-client.ts';
export { CommandProblem, problemOf } from './problem.ts';
