/** The record from which a session is restored when its worker is gone. It is written when one of these members changes, not with every request. */
import type { InputKey } from './exchange.ts';
import type { QuestionId, ServerName, WorkerId } from './ids.ts';
import type { JsonObject } from './json-rpc.ts';
import type { LogLevel } from './methods.ts';
import type { LegacyRevision } from './revisions.ts';
import type { Caller } from './session-messages.ts';

/** The name and version of a client, cut to a bounded length. */
export interface ClientInfo {
  readonly name: string;
  readonly version?: string;
}

export interface SessionRecord {
  readonly caller: Caller;
  readonly revision: LegacyRevision;
  /** Capabilities as the client declared them. */
  readonly capabilities: JsonObject;
  /** Names of the server capabilities that were announced to the client. */
  readonly offered: readonly string[];
  /** Left out for a client without `clientInfo`. */
  readonly client?: ClientInfo;
  /** Whether the client has confirmed the handshake. */
  readonly isReady: boolean;
  readonly logLevel?: LogLevel;
  /** Servers that may keep state for the session. */
  readonly touched: readonly ServerName[];
  /** Subscribed resources, by server and the server's own URI. */
  readonly subscriptions: readonly (readonly [server: ServerName, uri: string])[];
  /** Adapters that keep state for the session. */
  readonly bound?: readonly (readonly [server: ServerName, worker: WorkerId])[];
  /** Questions of servers outside of calls that the client has not answered. */
  readonly questions?: readonly (readonly [id: QuestionId, server: ServerName, input: InputKey])[];
  /** The worker that holds the session. It is changed by compare-and-set only, so that two workers never hold one session. */
  readonly worker: WorkerId;
}
