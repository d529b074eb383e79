/** Removes blocked servers and tools from a plan. Every plan with a destination is checked, whether or not limits apply to the request (`limits/gate.ts`). */
import type { GatewayFault, ServerName } from '@omnibus/protocol';
import type { Plan } from '../../call/plan.ts';

/** @param problemOf why a server, or a tool of it by the server's own name, is blocked or paused; undefined if it is not. A pause does not affect running work: tasks, and the end of a subscription. */
export function withoutBlocked(
  plan: Plan,
  method: string,
  problemOf: (server: ServerName, tool: string | undefined, isBegun: boolean) => GatewayFault | undefined,
): Plan {
  if (plan.kind === 'refuse') return plan;
  const isBegun = method.startsWith('tasks/') || method === 'resources/unsubscribe';
  if (plan.kind !== 'search' && plan.kind !== 'list') {
    const problem = problemOf(
      plan.server,
      'tool' in plan ? plan.tool : 'task' in plan ? plan.task?.tool : undefined,
      isBegun,
    );
    return problem === undefined ? plan : { kind: 'refuse', fault: problem };
  }
  const problems = plan.servers.map((server) => problemOf(server, undefined, isBegun));
  const problem = problems.find((each) => each !== undefined);
  if (problem === undefined) return plan;
  const servers = plan.servers.filter((_server, index) => problems[index] === undefined);
  return servers.length === 0 ? { kind: 'refuse', fault: problem } : { ...plan, servers };
}
