/** Removes blocked servers and tools from a plan. Every plan with a destination is checked, whether or not limits apply to the request (`limited-request.ts`). */
import type { GatewayFault, ServerName } from '@omnibus/protocol';
import type { Plan } from './route.ts';

/** @param problemOf why a server, or a tool of it by the server's own name, is blocked; undefined where it is not. */
export function withoutBlocked(plan: Plan, problemOf: (server: ServerName, tool?: string) => GatewayFault | undefined): Plan {
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
