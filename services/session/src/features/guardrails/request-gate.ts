/** Guardrails look at a request before it is sent. A changed request is planned, and decided by the rules, again. */
import type { JsonObject } from '@omnibus/protocol';
import type { CallStream } from '../../call/client-port.ts';
import type { Gate, GateRun } from '../../call/gates.ts';
import { isSamePlace, type Planned } from '../../call/planned-again.ts';
import { withChanges } from '../../call/request-params.ts';
import { screenFirst } from '../../call/screen-first.ts';
import type { Screened } from '../../call/transform.ts';

export const guardrailGate: Gate = {
  takes(planned, run) {
    const { call, plan } = planned;
    const { screen } = call;
    if (screen?.looksAt('requests') !== true || !('params' in plan) || plan.kind === 'search') return false;
    // Fixed arguments of the endpoint are the operator's own; guardrails neither inspect nor show them.
    const { arguments: _fixed, ...rest } = plan.params;
    const given = call.given['arguments'] === undefined ? rest : { ...rest, arguments: call.given['arguments'] };
    const made = screenFirst(run.open, call, screen, given, (later) => goOn(planned, run, given, later, true));
    if (made === undefined) return true;
    if ('payload' in made && made.payload === given) return false;
    goOn(planned, run, given, made, false);
    return true;
  },
};

/** Goes on with a request that has waited, or that was changed or denied. @param given its parameters before. */
function goOn<Stream extends CallStream>(
  { call, plan }: Planned<Stream>,
  run: GateRun<Stream>,
  given: JsonObject,
  made: Screened,
  hasWaited: boolean,
): void {
  if ('fault' in made) {
    run.messages.deny(call, made.fault);
    return;
  }
  const isChanged = made.payload !== given;
  const next = run.again(isChanged ? { ...call, given: withChanges(call.given, given, made.payload) } : call);
  // Other guardrails may be for another server.
  if (hasWaited && next.plan.kind !== 'refuse' && !isSamePlace(next.plan, plan)) run.from(guardrailGate, next);
  else
    run.next(
      guardrailGate,
      next.plan.kind === 'refuse' && next.call.permission !== undefined
        ? { ...next, call: { ...next.call, screen: call.screen } }
        : next,
    );
}
