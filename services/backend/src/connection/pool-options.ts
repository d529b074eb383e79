/** Inputs of a pool of connections. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeContext, JsonObject, Principal, SessionKey } from '@omnibus/protocol';
import type { Leg } from '../dialect/leg.ts';
import type { ConnectionBudget } from './budget.ts';
import type { UpstreamConnection } from './connection.ts';
import type { Identity, OwnIdentities } from './identities.ts';
import type { Isolation } from './sharing.ts';

/**
 * A connection of some caller's own is closed after this long without a call: longer than a person thinks between two calls, after which
 * a program costs less to start again than to keep.
 */
export const callerIdleMs = 10 * 60_000;

export interface ConnectionPoolOptions {
  readonly isolation: Isolation;
  /** Undefined if all callers are the same to the server. */
  readonly identities: OwnIdentities | undefined;
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

export interface NewConnection {
  /** Undefined for one that several callers share. */
  readonly identity?: Identity | undefined;
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
