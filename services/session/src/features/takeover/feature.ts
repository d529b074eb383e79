/** Calls outlive the session worker that made them: the next owner of the session, or the worker that a request without a session goes to, continues them. */
import type { Bus } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { WorkerId } from '@omnibus/protocol';
import type { Adapters } from '../../call/adapters.ts';
import type { SessionFeature } from '../../feature.ts';
import { takeoverGate } from './gate.ts';

export function takeover(parts: {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly owner: WorkerId;
}): SessionFeature {
  const { bus, wheel, owner } = parts;
  let adapters: Adapters | undefined;
  return {
    name: 'takeover',
    gates: [takeoverGate({ owner, bus, clock: wheel, backends: () => adapters })],
    start(given) {
      adapters = given.adapters;
    },
  };
}
