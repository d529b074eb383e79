/**
 * Whether a caller may have carried out what he asks: every method that is carried to a server passes here, and nowhere else is it decided.
 * What he may not see he is told of in the words in which he would be told that there is none; what he sees and may not do, with the rule.
 */
import { fault, methodRow, type GatewayFault, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { View } from '@omnibus/catalog';
import type { Access, Permission, Wanted } from './access.ts';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { Destination, Plan } from './route.ts';
import { unknownEntry, unknownResource } from './routes/unknown-entry.ts';

export interface AskedRequest {
  readonly method: string;
  readonly view: View;
}

/** The plan, or a refusal in its place. @param given as the client says it. */
export function permitted(plan: Plan, { method, view }: AskedRequest, given: JsonObject, access: Access): Plan {
  switch (plan.kind) {
    case 'list':
      return plan;
    case 'refuse': {
      // For those who record it: there is one, and this caller is not to know.
      const hidden = hiddenBy(method, view, given);
      return hidden === undefined ? plan : { ...plan, permission: access.decide(hidden) };
    }
    case 'search':
      return searchPlan(plan, method, view, access);
    case 'answer':
    case 'send':
    case 'start-task':
    case 'await-task': {
      const wanted = wantedBy(plan, method, view, given);
      if (wanted === undefined) return 'task' in plan && plan.task !== undefined ? { ...plan, ...redactingTask(plan.task, method, access) } : plan;
      const permission = access.decide(wanted);
      if (permission.effect !== 'deny' || permission.isRecorded) return { ...plan, permission };
      return { kind: 'refuse', fault: permission.isVisible ? deniedBy(permission) : isAboutTask(plan) ? fault('task.unknown') : unknown(wanted, view, given), permission };
    }
  }
}

function wantedBy(plan: Extract<Plan, { readonly server: ServerName }>, method: string, view: View, given: JsonObject): Wanted | undefined {
  const { server } = plan;
  const { params, tool } = plan as Partial<Destination>;
  const args = params?.['arguments'] as JsonObject | undefined;
  switch (methodRow(method)?.asksFor) {
    case 'tool':
      return { kind: 'tool', server, name: tool as string, method, args, entry: view.tool(String(given['name'])) };
    case 'prompt':
      return { kind: 'prompt', server, name: String(params?.['name']), method, args };
    case 'resource':
      return { kind: 'resource', server, name: String(params?.['uri']), method };
    case 'reference': {
      // What was answered without asking the server names nothing of its own; it is what the client named.
      const { type, name, uri } = (params?.['ref'] ?? given['ref']) as JsonObject;
      return type === 'ref/prompt' ? { kind: 'prompt', server, name: String(params === undefined ? view.promptRoute(String(name))?.original : name), method } : { kind: 'resource', server, name: String(uri), method };
    }
    case 'server':
      return 'task' in plan && plan.task !== undefined ? wantedOfTask(plan.task, method, view) : undefined;
    case undefined:
      return { kind: 'server', server, name: method, method };
  }
}

/**
 * Whoever asks about a task asks for the tool that it runs: who may not see the tool does not know of the task. What its call was permitted by
 * its arguments and the moment is not asked again.
 * @returns undefined for an id of an older version, which says no more than its server.
 */
function wantedOfTask({ server, tool }: TaskAddress, method: string, view: View): Wanted | undefined {
  if (tool === undefined) return undefined;
  return tool === '' ? { kind: 'server', server, name: method, method, isBegun: true } : { kind: 'tool', server, name: tool, method, entry: view.toolOf(server, tool), isBegun: true };
}

/** A request about a task that no plan is made for. @returns why it is refused, and what rules say of it. */
export function taskPermission(task: TaskAddress, { method, view }: AskedRequest, access: Access | undefined): { readonly refusal?: GatewayFault; readonly permission?: Permission } {
  const wanted = access === undefined ? undefined : wantedOfTask(task, method, view);
  if (access === undefined) return {};
  if (wanted === undefined) return redactingTask(task, method, access);
  const permission = access.decide(wanted);
  if (permission.effect !== 'deny' || permission.isRecorded) return { permission };
  return { permission, refusal: permission.isVisible ? deniedBy(permission) : fault('task.unknown') };
}

/** Of a task whose id does not say what it runs, what any rule takes out at its server. */
function redactingTask({ server }: TaskAddress, method: string, access: Access): { readonly permission?: Permission } {
  const redaction = access.redaction({ kind: 'server', server, name: method, method, isBegun: true });
  return redaction === undefined ? {} : { permission: { effect: 'allow', isVisible: true, isRecorded: false, redaction } };
}

const isAboutTask = (plan: Plan): boolean => 'task' in plan && plan.task !== undefined;

/** A tool or prompt that others have under that name. */
function hiddenBy(method: string, view: View, { name, ref }: JsonObject): Wanted | undefined {
  const prompt = method === 'prompts/get' ? name : method === 'completion/complete' ? (ref as JsonObject | undefined)?.['name'] : undefined;
  const kind = method === 'tools/call' ? 'tool' : 'prompt';
  const named = kind === 'tool' ? name : prompt;
  const found = typeof named === 'string' ? view.hidden(kind, named) : undefined;
  return found === undefined ? undefined : { kind, server: found.server, name: found.original, method, entry: found.entry };
}

/** Only servers are asked for a URI of which the caller may read it. */
function searchPlan(plan: Extract<Plan, { readonly kind: 'search' }>, method: string, view: View, access: Access): Plan {
  const { servers, uri } = plan;
  let refusal: Permission | undefined;
  const redacting = new Map<ServerName, Permission>();
  const open = servers.filter((server) => {
    const permission = access.decide({ kind: 'resource', server, name: uri, method });
    if (permission.redaction !== undefined) redacting.set(server, permission);
    if (permission.effect !== 'deny' || permission.isRecorded) return true;
    if (refusal === undefined || permission.isVisible) refusal = permission;
    return false;
  });
  if (open.length > 0 || refusal === undefined) return { ...plan, servers: open, ...(redacting.size === 0 ? {} : { redacting }) };
  return { kind: 'refuse', fault: refusal.isVisible ? deniedBy(refusal) : unknownResource(view, uri), permission: refusal };
}

function unknown({ kind, server }: Wanted, view: View, given: JsonObject): GatewayFault {
  const ref = given['ref'] as JsonObject | undefined;
  if (kind === 'resource') return unknownResource(view, String(given['uri'] ?? ref?.['uri']));
  if (kind === 'server') return fault('method.unknown', `server "${server}" is asked for nothing else than what its lists have`);
  return unknownEntry(view, kind === 'tool' ? 'tools' : 'prompts', String(given['name'] ?? ref?.['name']));
}

/** What a user is told, who sees the thing and may not use it so. */
function deniedBy({ rule, because }: Permission): GatewayFault {
  const named = rule === undefined ? 'no rule permits it' : `rule "${rule}"`;
  return fault('policy.denied', `this is not permitted (${named})${because === undefined ? '' : `: ${because}`}`, { ...(rule === undefined ? {} : { rule }), ...(because === undefined ? {} : { because }) });
}
