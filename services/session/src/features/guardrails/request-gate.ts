/** Guardrails look at a request before it is sent. A changed request is planned, and decided by the rules, again. */
import type { Gate } from '../../call/gates.ts';
import { isSamePlace } from '../../call/planned-again.ts';
import { withChanges } from '../../call/request-params.ts';
import { screenFirst } from '../../call/screen-first.ts';

export const guardrailGate: Gate = {
  takes({ call, plan }, run) {
    const { screen } = call;
    if (screen?.looksAt('requests') !== true || !('params' in plan) || plan.kind === 'search') return false;
    // Fixed arguments of the endpoint are the operator's own; guardrails neither inspect nor show them.
    const { arguments: _fixed, ...rest } = plan.params;
    const given = call.given['arguments'] === undefined ? rest : { ...rest, arguments: call.given['arguments'] };
    screenFirst(run.open, call, screen, given, (made, hasWaited) => {
      const isChanged = !('fault' in made) && made.payload !== given;
      if ('fault' in made) run.messages.deny(call, made.fault);
      else if (!isChanged && !hasWaited) run.next(guardrailGate, { call, plan });
      else {
        const next = run.again(isChanged ? { ...call, given: withChanges(call.given, given, made.payload) } : call);
        // Other guardrails may be for another server.
        if (hasWaited && next.plan.kind !== 'refuse' && !isSamePlace(next.plan, plan)) run.from(guardrailGate, next);
        else
          run.next(
            guardrailGate,
            next.plan.kind === 'refuse' && next.call.permission !== undefined
              ? { ...next, call: { ...next.call, screen } }
              : next,
          );
      }
    });
    return true;
  },
};
