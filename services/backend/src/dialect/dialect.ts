/**
 * What differs between the eras of servers. Revisions up to 2025-11-25 have sessions (`legacy/`), in 2026-07-28 every request stands alone
 * (`modern/`); a connection speaks to its server through one of the two, and nothing outside this folder asks which it is.
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeMethod, ExchangeOutcome, InputAnswer, InputMethod, JsonObject, LogLevel, ServerIntroduction } from '@omnibus/protocol';
import type { Transport } from '../transport/transport.ts';
import type { ListenPort, StandingListen } from './modern/standing-listen.ts';

/** On whose behalf a request is sent. */
export interface RequestContext {
  /** What the client can do. */
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  /** False: it has a session, and may have set a level there. Left out for requests of the gateway's own. */
  readonly standsAlone?: boolean;
}

/** What is asked of a server. */
export interface Said {
  readonly method: string;
  readonly params: JsonObject;
  readonly context: RequestContext;
}

export interface KnownServer {
  /** What it said of itself when it was met; undefined before that. */
  readonly introduction: ServerIntroduction | undefined;
  /** The input schema of a tool, which may want arguments repeated in headers. */
  readonly toolSchema: (tool: string) => JsonObject | undefined;
}

/** A server that has just introduced itself. */
export interface Greeting {
  readonly transport: Transport;
  /** What the server was told its client can do. */
  readonly capabilities: JsonObject;
  /** False once the transport was replaced or closed. */
  readonly isCurrent: () => boolean;
  readonly ping: () => Promise<unknown>;
  /** What the server asks meanwhile. */
  readonly questions: {
    readonly wereAsked: boolean;
    /** Resolves when no question is open, or the limit is over. @param limit calls what it is given when the time is over. */
    quiet(limit: (run: () => void) => { cancel(): void }): Promise<void>;
  };
  readonly wheel: DeadlineWheel;
  readonly limitMs: number;
}

/** One sending of a call's request, of which a server may want more before it answers. */
export interface Sending {
  readonly method: ExchangeMethod;
  readonly params: JsonObject;
  readonly context: RequestContext;
  /** How often the server has wanted something before. */
  readonly round: number;
  readonly wheel: DeadlineWheel;
  /** False once the call has ended otherwise. */
  isOpen(): boolean;
  /** Asks the call's client. */
  askClient(method: InputMethod, params: JsonObject, respond: (answer: InputAnswer) => void): void;
  /** Sends the call's request again, in the next round. */
  again(params: JsonObject): void;
  /** Ends the call without another request. */
  finish(outcome: ExchangeOutcome): void;
  /** Another request for the same call. */
  request(method: string, params: JsonObject, capabilities: JsonObject): Promise<ExchangeOutcome>;
  /** The server works on the call. @param message what it says of that. @param step how often it has said something. */
  report(message: string | undefined, step: number): void;
  /** Reads anew what the server says of its tools. */
  refreshTools(): Promise<void>;
  /** Ends the connection, and finds out anew of which era the server is. */
  meetAgain(problem: string): void;
}

export interface ServerDialect {
  /** The server keeps a session for the connection, and may lose it: a new one is opened then. */
  readonly hasSessions: boolean;
  /** What a client can do is said with each request, so one connection serves everybody; else it is said once, for the whole connection. */
  readonly declaresPerRequest: boolean;
  /** The server is set to a log level, which holds until it is set to another one; else each request says its own. */
  readonly keepsLogLevel: boolean;
  /** What clients say can be said outside of requests. */
  readonly hearsNotifications: boolean;
  /** An error in the body of an HTTP refusal is the answer to the request, whatever the status. */
  readonly refusesInBody: boolean;
  /** The request that a server answers as long as it lives. */
  readonly signOfLife: 'ping' | 'server/discover';
  /** @param progressToken under which the server is to report; undefined where nobody wants to know. */
  request(transport: Transport, id: number, said: Said, progressToken: number | undefined, server: KnownServer): void;
  /** Tells the server to stop (basic/utilities/cancellation). */
  cancel(transport: Transport, id: number, reason: string): void;
  /** Resolves when the server can be used. */
  greet(greeting: Greeting): Promise<void>;
  /** The one subscription that tells of everything; undefined where a server tells of its own accord, and each resource is asked for by a request. */
  listen(port: ListenPort, wheel: DeadlineWheel, server: ServerIntroduction): StandingListen | undefined;
  /** Looks at what a server answered. @returns false when that is final; else the call goes on, and is ended by `sending.finish`. */
  goesOn(sending: Sending, outcome: ExchangeOutcome): boolean;
}
