/** Refuses a call of a blocked caller, server or tool, and takes blocked servers out of a search. */
import type { Barrier } from '../../call/barrier.ts';
import type { Gate } from '../../call/gates.ts';
import { withoutBlocked } from './without-blocked.ts';

export function blockGate(blocks: Barrier): Gate {
  const gate: Gate = {
    takes({ call, plan }, run) {
      const left = withoutBlocked(plan, call.method, (server, tool, isBegun) =>
        blocks.problemOf(run.port.facts, server, tool, isBegun),
      );
      if (left === plan) return false;
      run.next(gate, { call, plan: left });
      return true;
    },
  };
  return gate;
}
