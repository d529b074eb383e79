export * from './policy.ts';
export * from './problem.ts';
export * from './state.ts';
export * from './traffic.ts';
export * from './trust.ts';
export { addEvent, callOf, sentArguments } from './calls.ts';
export { base, changeHeader, idempotencyHeader, operations } from './operations.ts';
export type { AnswerOf, BodyOf, Operation, OperationName, QueryOf } from './operations.ts';
export { openApi } from './openapi.ts';
