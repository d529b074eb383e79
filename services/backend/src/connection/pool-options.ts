/** Inputs of a pool of connections. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeContext, GatewayFault, JsonObject, Principal, SessionKey } from '@omnibus/protocol';
import type { Leg } from '../dialect/leg.ts';
import type { ConnectionBudget } from './budget.ts';
import type { UpstreamConnection } from './connection.ts';
import type { Isolation } from './sharing.ts';

/**
 * A connection of some caller's own is closed after this long without a call: longer than a person thinks between two calls, after which
 * a program costs less to start again than to keep.
 */
export const callerIdleMs = 10 * 60_000;

export interface ConnectionPoolOptions {
  readonly isolation: Isolation;
  /** Each known caller has its own identity at the server. */
  readonly isOwned: boolean;
  /** A request comes for a server that is called in the name of each known caller. */
  readonly met?: ((context: ExchangeContext) => void) | undefined;
  /** The headers for a caller, if they name the caller; undefined if all callers have the same. */
  readonly headersFor?: ((context: ExchangeContext) => ShownHeaders) | undefined;
  /**
   * The extensions of a caller for a server of an older era, at the opening of the caller's connection; undefined if there are none.
   * @param isForced also where nothing shows that the server cares: to find that out, and where the caller has a connection of its own anyway.
   */
  readonly extensionsOf: (context: ExchangeContext, isForced: boolean) => JsonObject | undefined;
  /** Behind each connection is a program of its own. */
  readonly isProgram: boolean;
  readonly base: UpstreamConnection;
  readonly create: (made: NewConnection) => UpstreamConnection;
  /** Whether the base connection may be of 2026-07-28 while the server speaks an older era too. */
  readonly mayBeSplit: boolean;
  readonly wheel: DeadlineWheel;
  readonly idleMs: number;
  /** Bound on connections to this server other than the base connection; the option `maxConnections`. */
  readonly maxConnections: number;
  /** Whether the wire tells which request a message of the server belongs to. */
  readonly namesRequests: () => boolean;
  /** The budget that all servers of the process share. */
  readonly budget: ConnectionBudget;
  /** Whether something still runs over a connection although no call does, such as a task or a subscription. */
  readonly isNeeded: (connection: UpstreamConnection) => boolean;
}

/** Headers that name a caller, or why they cannot. */
export type ShownHeaders = NamingHeaders | { readonly fault: GatewayFault };
export interface NamingHeaders {
  readonly headers: Readonly<Record<string, string>>;
}

export interface NewConnection {
  /** All configured headers, where some name the caller. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The client capabilities that are declared to the server. */
  readonly capabilities: JsonObject;
  /** The identity that opens it. */
  readonly principal: Principal;
  /** Its session, if it has only one. */
  readonly session: SessionKey | undefined;
  /** The leg of the server over which it is opened. */
  readonly leg: Leg;
  /** Whether the requests of one user are sent over it one at a time. */
  readonly isTakenInTurn: () => boolean;
  /** Called when it opens and when it closes. */
  readonly changed: (isOpen: boolean) => void;
}
