/** What a pool of connections is made of. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { JsonObject, Principal, SessionKey } from '@omnibus/protocol';
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
  /** Each known caller is shown to the server in his own name. */
  readonly isOwned: boolean;
  /** Behind each connection is a program of its own. */
  readonly isProgram: boolean;
  readonly base: UpstreamConnection;
  readonly create: (made: NewConnection) => UpstreamConnection;
  /** The base may be of 2026-07-28 and the server of older eras too. */
  readonly hasOlderLeg: boolean;
  readonly wheel: DeadlineWheel;
  readonly idleMs: number;
  /** Connections to this server besides the base; the option `maxConnections`. */
  readonly maxConnections: number;
  /** Which request a message of the server belongs to is seen by what carried it. */
  readonly namesRequests: () => boolean;
  /** What all servers of the process have together. */
  readonly budget: ConnectionBudget;
  /** Something still runs over it although no call does. */
  readonly isNeeded: (connection: UpstreamConnection) => boolean;
}

export interface NewConnection {
  /** What the server is told its client can do. */
  readonly capabilities: JsonObject;
  /** In whose name it is opened. */
  readonly principal: Principal;
  /** Whose it is, when it is one session's alone. */
  readonly session: SessionKey | undefined;
  /** Only the older era is spoken over it, although the base speaks the newer one. */
  readonly isOlder: boolean;
  /** Requests of one user are made over it one at a time. */
  readonly isTakenInTurn: () => boolean;
  /** Hears whenever it is open and whenever it is not any more. */
  readonly changed: (isOpen: boolean) => void;
}
