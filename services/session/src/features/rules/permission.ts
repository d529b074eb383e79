/**
 * Whether a caller may make a request: every method that is forwarded to a server is decided here, and nowhere else.
 * Something that the caller may not see is refused in the same words as something that does not exist; a refusal of something visible names the rule.
 */
import {
  fault,
  labelAdvice,
  labelData,
  methodRow,
  type GatewayFault,
  type JsonObject,
  type ServerName,
} from '@omnibus/protocol';
import type { Sight, View } from '@omnibus/catalog';
import type { GrantTerms } from '@omnibus/policy';
import type { Decided, Permission, Wanted } from '../../call/permission.ts';
import { withoutScopes, type Access, type AskedRequest, type TaskPermission } from '../../call/access.ts';
import type { CallScreen } from '../../call/transform.ts';
import type { TaskAddress } from '../../public-ids/task-ids.ts';
import type { Destination, Plan } from '../../call/plan.ts';
import { unknownEntry, unknownResource } from '../../call/routes/unknown-entry.ts';

const minuteMs = 60_000;

/** An access with what follows from its decisions. */
export abstract class DecidingAccess implements Access {
  abstract readonly sight: Sight | undefined;
  abstract decide(wanted: Wanted): Decided;
  abstract screen(wanted: Wanted, isRedacted?: boolean): CallScreen | undefined;
  abstract redacted(wanted: Wanted, part: JsonObject): JsonObject;
  /** Grants that the caller may ask for, and that permit a request that is refused now. */
  abstract offers(wanted: Wanted): readonly GrantTerms[];

  permitted(plan: Plan, request: AskedRequest, given: JsonObject): Plan {
    const { method, view } = request;
    switch (plan.kind) {
      case 'list':
        return plan;
      case 'refuse': {
        // The name is unknown to this caller. If something of that name is hidden from it by a rule, the record says so.
        const hidden = hiddenBy(method, view, given);
        return hidden === undefined
          ? plan
          : {
              ...plan,
              fault: withOffers(plan.fault, this.offers(hidden)),
              permission: this.decide(hidden).permission,
            };
      }
      case 'search':
        return searchPlan(plan, request, this);
      case 'send':
      case 'start-task':
      case 'await-task': {
        const wanted = wantedBy(plan, request, given);
        if (wanted === undefined) return plan;
        const decided = this.decide(wanted);
        const { permission } = decided;
        if (permission.effect !== 'deny' || permission.isRecorded) return { ...plan, ...decided };
        const refusal = permission.isVisible
          ? deniedBy(permission)
          : isAboutTask(plan)
            ? fault('task.unknown')
            : unknown(wanted, view, given);
        const offers = permission.missingScopes === undefined && !isAboutTask(plan) ? this.offers(wanted) : [];
        return { kind: 'refuse', fault: withOffers(refusal, offers), permission };
      }
    }
  }

  ofTask(task: TaskAddress, request: AskedRequest): TaskPermission {
    const decided = this.decide(wantedOfTask(task, request));
    const { permission } = decided;
    if (permission.effect !== 'deny' || permission.isRecorded) return decided;
    return { permission, refusal: permission.isVisible ? deniedBy(permission) : fault('task.unknown') };
  }
}

function wantedBy(
  plan: Extract<Plan, { readonly server: ServerName }>,
  request: AskedRequest,
  given: JsonObject,
): Wanted | undefined {
  const { method, view, labels } = request;
  const { server } = plan;
  const { params, tool, publicName = given['name'] } = plan as Partial<Destination>;
  const args = params?.['arguments'] as JsonObject | undefined;
  switch (methodRow(method)?.asksFor) {
    case 'tool':
      return { kind: 'tool', server, name: tool as string, method, args, entry: view.tool(String(publicName)), labels };
    case 'prompt':
      return { kind: 'prompt', server, name: String(params?.['name']), method, args, labels };
    case 'resource':
      return { kind: 'resource', server, name: String(params?.['uri']), method, labels };
    case 'reference': {
      const { type, name, uri } = params?.['ref'] as JsonObject;
      return type === 'ref/prompt'
        ? { kind: 'prompt', server, name: String(name), method, labels }
        : { kind: 'resource', server, name: String(uri), method, labels };
    }
    case 'server':
      return 'task' in plan && plan.task !== undefined ? wantedOfTask(plan.task, request) : undefined;
    case undefined:
      return { kind: 'server', server, name: method, method, labels };
  }
}

/**
 * A request about a task is decided as one for the task's tool: for a caller that may not see the tool, the task does not exist.
 * Conditions on arguments and time were checked when the call was permitted, and are not checked again.
 */
function wantedOfTask({ server, tool }: TaskAddress, { method, view, labels }: AskedRequest): Wanted {
  return tool === undefined
    ? { kind: 'server', server, name: method, method, isBegun: true, labels }
    : { kind: 'tool', server, name: tool, method, entry: view.toolOf(server, tool), isBegun: true, labels };
}

const isAboutTask = (plan: Plan): boolean => 'task' in plan && plan.task !== undefined;

/** A tool or prompt of that name that the caller may not see. */
function hiddenBy(method: string, view: View, { name, ref }: JsonObject): Wanted | undefined {
  const prompt =
    method === 'prompts/get'
      ? name
      : method === 'completion/complete'
        ? (ref as JsonObject | undefined)?.['name']
        : undefined;
  const kind = method === 'tools/call' ? 'tool' : 'prompt';
  const named = kind === 'tool' ? name : prompt;
  const found = typeof named === 'string' ? view.hidden(kind, named) : undefined;
  return found === undefined
    ? undefined
    : { kind, server: found.server, name: found.original, method, entry: found.entry };
}

/** Restricts a search for a URI to the servers at which the caller may read it. An approval is for one server: of several that need one, the first gets it. */
function searchPlan(
  plan: Extract<Plan, { readonly kind: 'search' }>,
  { method, view, labels }: AskedRequest,
  access: Access,
): Plan {
  const { servers, uri } = plan;
  let refusal: Permission | undefined;
  let asking: { readonly server: ServerName; readonly permission: Permission } | undefined;
  const screened = new Map<ServerName, Decided>();
  const open = servers.filter((server) => {
    const decided = access.decide({ kind: 'resource', server, name: uri, method, labels });
    const { permission } = decided;
    if (decided.screen !== undefined) screened.set(server, decided);
    if (permission.effect === 'ask' && !permission.isRecorded) {
      if (asking !== undefined) return false;
      asking = { server, permission };
    }
    if (permission.effect !== 'deny' || permission.isRecorded) return true;
    if (refusal === undefined || permission.isVisible) refusal = permission;
    return false;
  });
  if (open.length > 0 || refusal === undefined)
    return {
      ...plan,
      servers: open,
      ...(screened.size === 0 ? {} : { screened }),
      ...(asking === undefined ? {} : { asking: asking.server, permission: asking.permission }),
    };
  return {
    kind: 'refuse',
    fault: refusal.isVisible ? deniedBy(refusal) : unknownResource(view, uri),
    permission: refusal,
  };
}

function unknown({ kind, server }: Wanted, view: View, given: JsonObject): GatewayFault {
  const ref = given['ref'] as JsonObject | undefined;
  if (kind === 'resource') return unknownResource(view, String(given['uri'] ?? ref?.['uri']));
  if (kind === 'server')
    return fault('method.unknown', `server "${server}" is asked for nothing else than what its lists have`);
  return unknownEntry(view, kind === 'tool' ? 'tools' : 'prompts', String(given['name'] ?? ref?.['name']));
}

/** A refusal that says how to ask for a grant, where the caller may ask for one that permits the request. */
function withOffers({ reason, message, data }: GatewayFault, offers: readonly GrantTerms[]): GatewayFault {
  const [first] = offers;
  if (first === undefined) return { reason, message, ...(data === undefined ? {} : { data }) };
  const { id, lastsMs, because } = first;
  const minutes = Math.floor(lastsMs / minuteMs);
  return fault(
    reason,
    `${message}; the grant ${JSON.stringify(id)} permits it, for at most ${minutes} minutes: the user can ask for it with "omnibus grants request ${id} --for ${minutes}m --reason TEXT", in the view Approvals of the console, or with POST /api/v1/grants${because === undefined ? '' : ` (${because})`}`,
    { ...data, grants: offers.map((offer) => offer.id) },
  );
}

/** The refusal for a caller that may see something but not use it in this way. */
function deniedBy({ rule, because, labelled, missingScopes }: Permission): GatewayFault {
  if (missingScopes !== undefined) return withoutScopes(missingScopes);
  const named = rule === undefined ? 'no rule permits it' : `rule "${rule}"`;
  const why = because === undefined ? '' : `: ${because}`;
  return fault('policy.denied', `this is not permitted (${named})${why}${labelAdvice(labelled)}`, {
    ...(rule === undefined ? {} : { rule }),
    ...(because === undefined ? {} : { because }),
    ...labelData(labelled),
  });
}
