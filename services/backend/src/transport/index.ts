/** What others than adapters use: one who joins a gateway elsewhere, and the discovery of servers. */
export { forbiddenHost } from './address-rule.ts';
export { ReadingBudget } from './reading-budget.ts';
export { StreamableHttpTransport } from './streamable-http.ts';
export type { RequestFailure } from './transport.ts';
