/** Holds a call that needs an approval, after its route is planned and before it is sent: it waits among the open requests of its client, and is planned again when it is approved. */
import { exchangeOf, fault, roundMethods, type GatewayFault, type ServerName } from '@omnibus/protocol';
import type { CallStream, ForwardedCall } from '../../call/client-port.ts';
import type { Gate, GateRun } from '../../call/gates.ts';
import { WaitingRequest } from '../../call/open-requests.ts';
import { definitionOf, isUnchanged } from '../../call/planned-again.ts';
import type { Destination, Plan, Search } from '../../call/plan.ts';
import { requestedBy } from '../../call/public-messages.ts';
import type { Note, WatchedCall } from '../../call/watchers.ts';
import type { AskTerms } from '@omnibus/policy';
import type { ApprovalNote, Approvals, AskedApproval, Waiting } from './approvals.ts';
import { takesForms, type ApprovedKind } from './form.ts';

/** A plan for which a rule demands an approval: with one destination, or a search in which one server needs it. */
type Asking = Extract<Plan, Destination> | Extract<Plan, Search>;

type Approved = Pick<Destination, 'server' | 'tool' | 'params'> & {
  readonly kind: ApprovedKind;
  readonly name: string;
};

/** Key of the gateway's own question to the client, of which a call has one at a time. */
const input = 0;

/** The outcome for the call; undefined while nothing is decided. */
const outcomes: Readonly<Record<ApprovalNote['outcome'], Note['outcome']>> = {
  asked: undefined,
  approved: 'ok',
  used: 'ok',
  refused: 'denied',
  expired: 'denied',
  impossible: 'denied',
  void: 'denied',
  withdrawn: 'cancelled',
};

export function approvalGate(approvals: Approvals): Gate {
  const gate: Gate = {
    takes({ call, plan }, run) {
      if (!isAsking(call, plan) || isCovered(approvals, call, plan, run)) return false;
      ask({ approvals, gate }, call, plan, run);
      return true;
    },
  };
  return gate;
}

/** Whether an earlier approval for a time covers a call; a record says so. */
function isCovered<Stream extends CallStream>(
  approvals: Approvals,
  call: ForwardedCall<Stream>,
  plan: Asking,
  { port, watchers }: GateRun<Stream>,
): boolean {
  const { rule = 'default', terms } = call.permission ?? {};
  if (terms?.lasts === undefined || plan.kind === 'search') return false;
  const to = destinationOf(plan);
  const { server, kind, name } = to;
  const definition = definitionOf({ call, plan });
  const grant = approvals.covering({ facts: port.facts, server, kind, name, definition, rule, terms });
  if (grant === undefined) return false;
  watchers.noted(port, requestedBy(call), {
    name: 'approval.reused',
    server,
    target: kind === 'resource' ? undefined : name,
    args: to.params['arguments'] ?? {},
    outcome: 'ok',
    more: { approval: grant.id, approval_by: terms.by, ...(grant.by === undefined ? {} : { by: grant.by }) },
  });
  return true;
}

interface Asked {
  readonly approvals: Approvals;
  readonly gate: Gate;
}

function isAsking({ permission }: Pick<ForwardedCall<CallStream>, 'permission'>, plan: Plan): plan is Asking {
  return permission?.effect === 'ask' && !permission.isRecorded && plan.kind !== 'refuse';
}

function ask<Stream extends CallStream>(
  { approvals, gate }: Asked,
  asked: ForwardedCall<Stream>,
  plan: Asking,
  run: GateRun<Stream>,
): void {
  const { port, open, messages, watchers, timeLimits } = run;
  const { permission } = asked;
  const rule = permission?.rule ?? 'default';
  const given = permission?.terms;
  if (given === undefined) {
    messages.deny(asked, fault('approval.impossible', undefined, { rule }));
    return;
  }
  const to = destinationOf(plan);
  const { server, kind, name, params } = to;
  const beganAt = performance.now();
  const { call, held } = hold(run, asked, to, beganAt, given);
  const waiting = approvals.ask({
    caller: port.asking,
    facts: port.facts,
    server,
    kind,
    name,
    args: params['arguments'],
    definition: definitionOf({ call, plan }),
    rule,
    ...reasonsOf(asked),
    terms: within(given, timeLimits(server, to.tool).humanMs),
    ...identityOf(call),
    show:
      takesForms(port.capabilities) && isRound(call.method)
        ? (asker, form) =>
            port.ask(asker, call, server, { kind: 'input', input, method: 'elicitation/create', params: form })
        : undefined,
    takeBack: (asker, reason) => {
      port.inputWithdrawn(asker, input, reason);
      port.askerEnded(asker, reason);
    },
    note: (note) => watchers.noted(port, requestedBy(call), noteOf(note, to)),
    settled: (refusal) => {
      open.resume(
        request,
        () => {
          if (refusal === undefined && 'used' in waiting)
            goOn(gate, { ...call, ...ownAfter(call, beganAt) }, plan, run, (outcome) => waiting.used(outcome));
          else messages.deny(call, refusal ?? fault('internal.error'));
        },
        () => ('used' in waiting && refusal === undefined ? waiting.used('void') : undefined),
      );
    },
  });
  if ('reason' in waiting) {
    messages.deny(call, waiting);
    return;
  }
  const request = requestOf(waiting, call, to, held, messages);
  open.add(request);
  waiting.begin();
}

function identityOf({ stream, id }: ForwardedCall<CallStream>): Pick<AskedApproval, 'exchange' | 'mayBeAsked'> {
  const { origin, begun } = stream;
  return { exchange: origin === undefined ? undefined : exchangeOf(origin, id), mayBeAsked: begun !== undefined };
}

function reasonsOf({ permission }: ForwardedCall<CallStream>): Pick<AskedApproval, 'because' | 'labelled'> {
  return { because: permission?.because, labelled: permission?.labelled };
}

/** A client has as much time as for questions of servers. */
function within(terms: AskTerms, humanMs: number): AskTerms {
  return terms.by === 'caller' ? { ...terms, expiresMs: Math.min(terms.expiresMs, humanMs) } : terms;
}

/** Tells watchers that the call waits. @returns the call, with the tag under which it is watched. */
function hold<Stream extends CallStream>(
  { port, watchers }: GateRun<Stream>,
  asked: ForwardedCall<Stream>,
  to: Approved,
  since: number,
  { by }: AskTerms,
): { readonly call: ForwardedCall<Stream>; readonly held: readonly WatchedCall[] } {
  const held = watchers.held({ client: port, call: asked, to, since, event: 'approval-asked', more: { by } });
  const tag = held.find(({ tap }) => tap !== undefined)?.tap;
  return { call: tag === undefined ? asked : { ...asked, tap: tag }, held };
}

function noteOf(
  { outcome, id, digest, by, decidedBy, forMs }: ApprovalNote,
  { server, kind, name, params }: Approved,
): Note {
  return {
    name: `approval.${outcome}`,
    server,
    target: kind === 'resource' ? undefined : name,
    args: params['arguments'] ?? {},
    outcome: outcomes[outcome],
    more: {
      approval: id,
      approval_digest: digest,
      approval_by: by,
      ...(decidedBy === undefined ? {} : { by: decidedBy }),
      ...(forMs === undefined ? {} : { for_ms: forMs }),
    },
  };
}

class UnapprovedRequest extends WaitingRequest {
  override get hasNotBegun(): boolean {
    return true;
  }
}

/** The call among the open requests of its client. */
function requestOf<Stream extends CallStream>(
  waiting: Waiting,
  call: ForwardedCall<Stream>,
  { server, tool }: Approved,
  held: readonly WatchedCall[],
  messages: GateRun<Stream>['messages'],
): WaitingRequest {
  return new UnapprovedRequest(
    call,
    (reason) => {
      waiting.withdraw(reason);
      for (const watched of held) watched.ended?.('cancelled', undefined);
      call.stream.leaveUnanswered();
    },
    (gatewayFault) => {
      waiting.withdraw(gatewayFault.message);
      messages.deny(call, gatewayFault);
    },
    server,
    tool,
  );
}

/** Plans an approved call again: an approval permits only its own call, and only if the rules still permit that. */
function goOn<Stream extends CallStream>(
  gate: Gate,
  call: ForwardedCall<Stream>,
  approved: Asking,
  run: GateRun<Stream>,
  used: (outcome: 'used' | 'void') => void,
): void {
  const { call: next, plan } = run.again(call);
  const refusal =
    plan.kind === 'refuse'
      ? plan.fault
      : isUnchanged({ call: next, plan }, { call, plan: approved })
        ? undefined
        : isVoid(call);
  used(refusal === undefined ? 'used' : 'void');
  if (refusal === undefined) run.next(gate, { call: next, plan });
  else run.messages.deny(next, refusal);
}

function isVoid({ permission }: Pick<ForwardedCall<CallStream>, 'permission'>): GatewayFault {
  return fault('approval.void', undefined, permission?.rule === undefined ? {} : { rule: permission.rule });
}

/** Whether a method can be answered with a question to its client (2026-07-28 basic/patterns, Multi Round-Trip Requests). */
const isRound = (method: string): boolean => (roundMethods as ReadonlySet<string>).has(method);

/** The approved part of a plan. */
function destinationOf(plan: Asking): Approved {
  if (plan.kind === 'search')
    return {
      server: plan.asking ?? (plan.servers[0] as ServerName),
      params: plan.params,
      kind: 'resource',
      name: plan.uri,
    };
  const { server, tool, params } = plan;
  if (tool !== undefined) return { server, tool, params, kind: 'tool', name: tool };
  return typeof params['uri'] === 'string'
    ? { server, params, kind: 'resource', name: params['uri'] }
    : { server, params, kind: 'prompt', name: String(params['name']) };
}

/** Moves the start of the client's own time limit by the time of waiting for the approval, which does not count. */
function ownAfter(
  { own }: Pick<ForwardedCall<CallStream>, 'own'>,
  beganAt: number,
): Pick<ForwardedCall<CallStream>, 'own'> {
  return { own: own === undefined ? undefined : { ...own, beganAt: own.beganAt + performance.now() - beganAt } };
}
