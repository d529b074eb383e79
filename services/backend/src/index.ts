export { Backend } from './backend.ts';
export { StreamableHttpTransport } from './transport/streamable-http.ts';
export { ReadingBudget } from './transport/reading-budget.ts';
export type { RequestFailure } from './transport/transport.ts';
export { modernHeaders } from './dialect/modern/messages.ts';
export { forbiddenHost } from './transport/address-rule.ts';
