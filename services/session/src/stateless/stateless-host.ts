/** What requests without sessions share at one worker. */
import type { View } from '@omnibus/catalog';
import type { Caller, ChangeKind, Declared, GatewayFault, JsonObject } from '@omnibus/protocol';
import type { CallHost } from '../call/call-host.ts';
import type { Offers } from '../views/offers.ts';
import type { Place } from '../views/place.ts';

/** The lists of an endpoint that a client is to be told about, by what it declared and what it may. */
export type ChangesFor = (declared: Declared, caller: Caller) => readonly ChangeKind[];

export interface StatelessHost extends CallHost {
  /** Why a caller is not believed to be who a command says. */
  readonly callerProblem: (caller: Caller) => GatewayFault | undefined;
  /** Undefined when the endpoint has left the configuration. */
  readonly view: (caller: Caller, declared?: Declared) => View | undefined;
  /** The same for a request that stands alone. */
  readonly viewAlone: (caller: Caller, capabilities: JsonObject) => View | undefined;
  readonly placeOf: (caller: Caller) => Place;
  readonly offers: Offers;
  /** A client asks something at an endpoint that exists. */
  readonly used: (caller: Caller) => void;
}
