/** What a request is that has found its server, as limits know it. */
import { isCustomMethod, type ExchangeMethod, type ServerName } from '@omnibus/protocol';
import type { ClientPort, CallStream } from './client-port.ts';
import type { Plan } from './route.ts';
import type { Asked } from './limits/rules.ts';

/** @returns undefined for what is no call of something that a server has: lists, completions, tasks that run already, subscriptions; and for what reaches no server. */
export function askedBy(method: ExchangeMethod, plan: Plan, { caller, facts }: Pick<ClientPort<CallStream>, 'caller' | 'facts'>): Asked | undefined {
  if (plan.kind === 'refuse' || plan.kind === 'answer' || plan.kind === 'list') return undefined;
  const server = plan.kind === 'search' ? plan.servers[0] : plan.server;
  if (server === undefined) return undefined;
  const of = (kind: Asked['kind'], name: unknown): Asked => ({ caller, facts, server: server satisfies ServerName, kind, name: String(name) });
  switch (method) {
    case 'tools/call':
      return of('tool', plan.params['name']);
    case 'prompts/get':
      return of('prompt', plan.params['name']);
    case 'resources/read':
      return of('resource', plan.params['uri']);
    default:
      return isCustomMethod(method) ? of('server', method) : undefined;
  }
}
