/** What is left of a plan where servers and tools are blocked. Everything that has a destination is asked, whether or not it is charged for (`asked.ts`). */
import type { GatewayFault, ServerName } from '@omnibus/protocol';
import type { Plan } from './route.ts';

/** @param problemOf why a server may not be asked, or a tool of it by its own name. */
export function unblocked(plan: Plan, problemOf: (server: ServerName, tool?: string) => GatewayFault | undefined): Plan {
  if (plan.kind === 'refuse') return plan;
  if (plan.kind !== 'search' && plan.kind !== 'list') {
    const problem = problemOf(plan.server, 'tool' in plan ? plan.tool : 'task' in plan ? plan.task?.tool : undefined);
    return problem === undefined ? plan : { kind: 'refuse', fault: problem };
  }
  const problems = plan.servers.map((server) => problemOf(server));
  const problem = problems.find((each) => each !== undefined);
  if (problem === undefined) return plan;
  const servers = plan.servers.filter((_server, index) => problems[index] === undefined);
  return servers.length === 0 ? { kind: 'refuse', fault: problem } : { ...plan, servers };
}
