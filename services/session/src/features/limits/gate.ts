/** Limits and quotas that a call passes before it is sent. */
import { isCustomMethod, type GatewayFault } from '@omnibus/protocol';
import type { CallStream, ClientPort, ForwardedCall } from '../../call/client-port.ts';
import type { Gate, GateRun } from '../../call/gates.ts';
import { WaitingRequest } from '../../call/open-requests.ts';
import { isSamePlace, isUnchanged, type Planned } from '../../call/planned-again.ts';
import type { Plan } from '../../call/plan.ts';
import type { CallAccounting, CallGate } from './call-gate.ts';
import type { LimitedRequest } from './rules.ts';

/** Counts a call against limits and quotas. @param onceMore the gate at which a call goes on that has changed while it waited. */
export function limitGate(limits: CallGate, onceMore: Gate | undefined): Gate {
  const gate: Gate = {
    takes(planned, run) {
      const { call, plan } = planned;
      const request = limitedRequestOf(call, plan, run.port);
      const accounting = request === undefined ? undefined : limits.begin(request);
      if (accounting === undefined) return false;
      if (!(accounting instanceof Promise) && !('reason' in accounting)) {
        call.followers = [...(call.followers ?? []), accounting];
        return false;
      }
      if (accounting instanceof Promise) waitForLease({ gate, onceMore }, planned, run, accounting, request);
      else run.messages.deny(call, accounting);
      return true;
    },
  };
  return gate;
}

interface Way {
  readonly gate: Gate;
  readonly onceMore: Gate | undefined;
}

/** Waits until a part of a quota is leased from the bus; meanwhile the call is open, and may be cancelled. */
function waitForLease<Stream extends CallStream>(
  way: Way,
  planned: Planned<Stream>,
  run: GateRun<Stream>,
  leasing: Promise<CallAccounting | GatewayFault>,
  request: LimitedRequest | undefined,
): void {
  const { call } = planned;
  const waiting = new WaitingRequest(
    call,
    () => call.stream.leaveUnanswered(),
    (gatewayFault) => run.messages.answerFault(call.stream, call.id, gatewayFault),
    request?.server,
    request?.kind === 'tool' ? request.name : undefined,
  );
  run.open.add(waiting);
  run.open.after(waiting, leasing, (accounting) => {
    const isRefused = 'reason' in accounting;
    run.open.resume(
      waiting,
      () => {
        if (isRefused) run.messages.deny(call, accounting);
        else whenGranted(way, planned, run, accounting);
      },
      () => (isRefused ? undefined : accounting.takenBack()),
    );
  });
}

function whenGranted<Stream extends CallStream>(
  { gate, onceMore }: Way,
  planned: Planned<Stream>,
  run: GateRun<Stream>,
  accounting: CallAccounting,
): void {
  const next = run.again(planned.call);
  if (isUnchanged(next, planned)) {
    next.call.followers = [...(next.call.followers ?? []), accounting];
    run.next(gate, next);
  } else {
    accounting.takenBack();
    // Other guardrails may be for another server.
    if (onceMore !== undefined && isSamePlace(next.plan, planned.plan)) run.from(onceMore, next);
    else run.restart(next);
  }
}

/** A planned request in the form that limits and quotas apply to. @returns undefined for what limits do not apply to: lists, completions, requests about running tasks, subscriptions, and what reaches no server. */
function limitedRequestOf(
  { method, view }: Pick<ForwardedCall<CallStream>, 'method' | 'view'>,
  plan: Plan,
  { caller, facts, dialect }: Pick<ClientPort<CallStream>, 'caller' | 'facts' | 'dialect'>,
): LimitedRequest | undefined {
  if (plan.kind === 'refuse' || plan.kind === 'list') return undefined;
  const server = plan.kind === 'search' ? plan.servers[0] : plan.server;
  if (server === undefined) return undefined;
  const task = 'task' in plan ? plan.task : undefined;
  if (task?.tool !== undefined && (method === 'tasks/result' || (method === 'tasks/get' && dialect.stateHasResult)))
    return { caller, facts, server, kind: 'tool', name: task.tool, view, isFetch: true };
  const { params } = plan;
  switch (method) {
    case 'tools/call':
      return { caller, facts, server, kind: 'tool', name: String(params['name']), view };
    case 'prompts/get':
      return { caller, facts, server, kind: 'prompt', name: String(params['name']) };
    case 'resources/read':
      return { caller, facts, server, kind: 'resource', name: String(params['uri']) };
    default:
      return isCustomMethod(method) ? { caller, facts, server, kind: 'server', name: method } : undefined;
  }
}
