export { AuthorizationServer } from './server.ts';
export type { ActingRule } from './exchange/delegations.ts';
export type { FurtherScope } from './further-scope.ts';
export { openRevocations } from './revocations.ts';
export { digestOf, formatUsers, leastCost, minPasswordCharacters, parseUsers } from './users.ts';
export type { UserRecord } from './users.ts';
export {
  formatAgents,
  newAgentId,
  newSecret,
  parseAgents,
  publicKeyOf,
  type AgentRecord,
} from './agents/agent-file.ts';
export { agentClientMark } from './agents/agents.ts';
