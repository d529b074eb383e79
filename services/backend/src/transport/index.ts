/** The parts that are used outside of adapters: by a gateway that joins another one, and by the discovery of servers. */
export { Agents } from './agents.ts';
export { forbiddenHost } from './address-rule.ts';
export { ReadingBudget } from './reading-budget.ts';
export { RedirectFollower } from './redirect-follower.ts';
export { StreamableHttpTransport } from './streamable-http.ts';
export type { RequestFailure } from './transport.ts';
