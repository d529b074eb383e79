/** The parts of a worker that requests without sessions share. */
import type { View } from '@omnibus/catalog';
import type { Caller, ChangeKind, Declared, GatewayFault, JsonObject } from '@omnibus/protocol';
import type { CallHost } from '../call/call-host.ts';
import type { OwnTasks } from '../call/own-tasks.ts';
import type { OwnTools } from '../call/own-tools.ts';
import type { ResultGate } from '../call/result-gate.ts';
import type { Offers } from '../views/offers.ts';
import type { ListFilter } from '../call/list-filter.ts';
import type { Place } from '../views/place.ts';

/** The changed lists of an endpoint that a client is notified of, by its capabilities and its caller's rights. */
export type ChangesFor = (declared: Declared, caller: Caller) => readonly ChangeKind[];

export interface StatelessHost extends CallHost {
  readonly ownTools: OwnTools;
  /** Undefined if the gateway runs no tasks itself. */
  readonly ownTasks?: OwnTasks | undefined;
  /** Why the identity of a caller in a command is not proven; undefined where it is. */
  readonly callerProblem: (caller: Caller) => GatewayFault | undefined;
  /** The view of a caller; undefined when the endpoint was removed from the configuration. */
  readonly view: (caller: Caller, declared?: Declared) => View | undefined;
  /** What narrows lists beyond the rules; `undecided` is called only if there is such a thing. */
  readonly listFilter: { readonly on: ListFilter | undefined };
  /** See `Callers.undecided`. */
  readonly undecided: (caller: Caller, declared?: Declared, capabilities?: JsonObject) => Promise<void> | undefined;
  /** The same for a single request. */
  readonly viewAlone: (caller: Caller, capabilities: JsonObject) => View | undefined;
  readonly placeOf: (caller: Caller) => Place;
  readonly offers: Offers;
  readonly resultGate: ResultGate | undefined;
  /** Called when a client makes a request at an endpoint that exists. */
  readonly used: (caller: Caller) => void;
}
