export { resultOf, toolError } from './answer.ts';
export type { ApiAnswer, ToolResult } from './answer.ts';
export { maxDocumentBytes, readDocument } from './document.ts';
export { operationsOf } from './operations.ts';
export type { Operations } from './operations.ts';
export type { OperationPlan } from './plan.ts';
export { ArgumentProblem, requestOf } from './request.ts';
export { apiAddress } from './servers.ts';
