/** A planned request in the form that limits, quotas and blocks apply to. */
import { isCustomMethod, type ExchangeMethod } from '@omnibus/protocol';
import type { ClientPort, CallStream } from '../../call/client-port.ts';
import type { Plan } from '../../call/plan.ts';
import type { LimitedRequest } from './rules.ts';

/** @returns undefined for what limits do not apply to: lists, completions, requests about running tasks, subscriptions, and what reaches no server. */
export function limitedRequestOf(
  method: ExchangeMethod,
  plan: Plan,
  { caller, facts, dialect }: Pick<ClientPort<CallStream>, 'caller' | 'facts' | 'dialect'>,
): LimitedRequest | undefined {
  if (plan.kind === 'refuse' || plan.kind === 'list') return undefined;
  const server = plan.kind === 'search' ? plan.servers[0] : plan.server;
  if (server === undefined) return undefined;
  const task = 'task' in plan ? plan.task : undefined;
  if (
    task?.tool !== undefined &&
    task.tool !== '' &&
    (method === 'tasks/result' || (method === 'tasks/get' && dialect.stateHasResult))
  )
    return { caller, facts, server, kind: 'tool', name: task.tool, isFetch: true };
  const { params } = plan;
  switch (method) {
    case 'tools/call':
      return { caller, facts, server, kind: 'tool', name: String(params['name']) };
    case 'prompts/get':
      return { caller, facts, server, kind: 'prompt', name: String(params['name']) };
    case 'resources/read':
      return { caller, facts, server, kind: 'resource', name: String(params['uri']) };
    default:
      return isCustomMethod(method) ? { caller, facts, server, kind: 'server', name: method } : undefined;
  }
}
