export * from './policy.ts';
export * from './problem.ts';
export * from './state.ts';
export * from './traffic.ts';
export { addEvent, callOf, sentArguments } from './calls.ts';
export { base, changeHeader, idempotencyHeader, operations } from './operations.ts';
export type { AnswerOf, Operation, OperationName, QueryOf } from './operations.ts';
export { openApi } from './openapi.ts';
