/** What a session is revived from when the worker that held it is gone. Written when one of these changes, never per request. */
import type { InputKey } from './exchange.ts';
import type { QuestionId, ServerName, WorkerId } from './ids.ts';
import type { JsonObject } from './json-rpc.ts';
import type { LogLevel } from './methods.ts';
import type { LegacyRevision } from './revisions.ts';
import type { Caller } from './session-messages.ts';

/** What a client says it is, in short. */
export interface ClientInfo {
  readonly name: string;
  readonly version?: string;
}

export interface SessionRecord {
  readonly caller: Caller;
  readonly revision: LegacyRevision;
  /** Capabilities as the client declared them. */
  readonly capabilities: JsonObject;
  /** Names of what it was told that servers have; undefined from a version of the gateway that told of everything. */
  readonly offered?: readonly string[];
  /** Left out by versions before 0.3.0, and for a client that says nothing. */
  readonly client?: ClientInfo;
  /** The client has confirmed the handshake. */
  readonly isReady: boolean;
  readonly logLevel?: LogLevel;
  /** Servers that may keep something for it. */
  readonly touched: readonly ServerName[];
  /** Resources it is told of, by server and the server's own URI. */
  readonly subscriptions: readonly (readonly [server: ServerName, uri: string])[];
  /** Adapters that keep something for it. */
  readonly bound?: readonly (readonly [server: ServerName, worker: WorkerId])[];
  /** What servers asked it outside any call, and it has not answered. */
  readonly questions?: readonly (readonly [id: QuestionId, server: ServerName, input: InputKey])[];
  /** Who holds it. Changed only by comparing the record's revision: two workers never hold one session. */
  readonly worker: WorkerId;
}
