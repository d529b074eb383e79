/** How issuers are reached, for processes that ask them without connecting to servers. */
export { Agents } from './agents.ts';
export { issuersOf, outbound } from './outbound.ts';
