/** The parts of a worker that requests without sessions share. */
import type { View } from '@omnibus/catalog';
import type { Caller, ChangeKind, Declared, GatewayFault, JsonObject } from '@omnibus/protocol';
import type { ClientHost } from '../call/client-host.ts';
import type { ResultGate } from '../call/result-gate.ts';
import type { Offers } from '../views/offers.ts';
import type { Place } from '../views/place.ts';

/** The changed lists of an endpoint that a client is notified of, by its capabilities and its caller's rights. */
export type ChangesFor = (declared: Declared, caller: Caller) => readonly ChangeKind[];

export interface StatelessHost extends ClientHost {
  readonly placeOf: (caller: Caller) => Place;
  readonly offers: Offers;
  /** Why the identity of a caller in a command is not proven; undefined where it is. */
  readonly callerProblem: (caller: Caller) => GatewayFault | undefined;
  /** The view of a single request. */
  readonly viewAlone: (caller: Caller, capabilities: JsonObject) => View | undefined;
  readonly resultGate: ResultGate | undefined;
  /** Called when a client makes a request at an endpoint that exists. */
  readonly used: (caller: Caller) => void;
}
