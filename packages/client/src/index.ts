/** An MCP client over a pair of streams, for commands and for the console, and the exit status and advice for a failed request. */
export { exits } from './exit-codes.ts';
export type { Exit } from './exit-codes.ts';
export { LineClient } from './line-client.ts';
export type { RequestOptions } from './line-client.ts';
export { CommandProblem } from './problem.ts';
