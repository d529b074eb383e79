/** Blocks, limits and quotas that a call passes before it is sent. */
import type { GatewayFault } from '@omnibus/protocol';
import type { CallStream } from '../client-port.ts';
import type { Gate, GateRun } from '../gates.ts';
import { limitedRequestOf } from '../limited-request.ts';
import { WaitingRequest } from '../open-requests.ts';
import { isSamePlace, isUnchanged, type Planned } from '../planned-again.ts';
import { withoutBlocked } from '../without-blocked.ts';
import type { CallAccounting } from './call-gate.ts';
import type { LimitedRequest } from './rules.ts';

/** Refuses a call of a blocked caller, server or tool, and takes blocked servers out of a search. */
export const blockGate: Gate = {
  takes({ call, plan }, run) {
    const { callGate } = run.host;
    if (callGate === undefined) return false;
    const left = withoutBlocked(plan, call.method, (server, tool, isBegun) =>
      callGate.problemOf(run.port.facts, server, tool, isBegun),
    );
    if (left === plan) return false;
    run.next(blockGate, { call, plan: left });
    return true;
  },
};

/** Counts a call against limits and quotas. */
export const limitGate: Gate = {
  takes(planned, run) {
    const { callGate } = run.host;
    if (callGate?.isFor(run.port.facts) !== true) return false;
    const { call, plan } = planned;
    const request = limitedRequestOf(call.method, plan, run.port);
    const accounting = request === undefined ? undefined : callGate.begin(request);
    if (accounting === undefined) return false;
    if (accounting instanceof Promise) waitForLease(planned, run, accounting, request);
    else if ('reason' in accounting) run.messages.deny(call, accounting);
    else run.next(limitGate, { call: { ...call, accounting }, plan });
    return true;
  },
};

/** Waits until a part of a quota is leased from the bus; meanwhile the call is open, and may be cancelled. */
function waitForLease<Stream extends CallStream>(
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
  void leasing.then((accounting) => {
    const isRefused = 'reason' in accounting;
    run.open.resume(
      waiting,
      () => {
        if (isRefused) run.messages.deny(call, accounting);
        else whenGranted(planned, run, accounting);
        run.idleWhenDone();
      },
      () => (isRefused ? undefined : accounting.takenBack()),
    );
  });
}

function whenGranted<Stream extends CallStream>(
  planned: Planned<Stream>,
  run: GateRun<Stream>,
  accounting: CallAccounting,
): void {
  const next = run.again(planned.call);
  next.call.permission?.screen?.goesOnFrom(planned.call.permission?.screen);
  if (isUnchanged(next, planned)) run.next(limitGate, { ...next, call: { ...next.call, accounting } });
  else {
    accounting.takenBack();
    // Other guardrails may be for another server.
    run.from(isSamePlace(next.plan, planned.plan) ? blockGate : (run.host.gates[0] ?? blockGate), next);
  }
}
