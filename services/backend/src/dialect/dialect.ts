/**
 * What differs between the eras of servers. A server of a revision up to 2025-11-25 is initialized and has sessions (`legacy/`); in 2026-07-28 every
 * request stands alone (`modern/`). A connection speaks to its server through one of the two, and code outside this folder never asks which.
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type {
  ExchangeMethod,
  ExchangeOutcome,
  InputAnswer,
  InputMethod,
  JsonObject,
  LogLevel,
  ServerIntroduction,
} from '@omnibus/protocol';
import type { Transport } from '../transport/transport.ts';
import type { Leg } from './leg.ts';
import type { ListenPort, StandingListen } from './modern/standing-listen.ts';

/** The client for which a request is sent. */
export interface RequestContext {
  /** The capabilities that the client declared. */
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  /** False: the client has a session, and may have set a log level there. Left out for requests of the gateway's own. */
  readonly standsAlone?: boolean;
  /** Whether the gateway goes through rounds and tasks in the client's place, whatever its era. */
  readonly awaitsResult?: boolean;
}

/** A request to a server. */
export interface Said {
  readonly method: string;
  readonly params: JsonObject;
  readonly context: RequestContext;
}

export interface KnownServer {
  /** Its answer in the handshake; undefined before that. */
  readonly introduction: ServerIntroduction | undefined;
  /** The input schema of a tool, which may demand that arguments are repeated in headers. */
  readonly toolSchema: (tool: string) => JsonObject | undefined;
}

/** A server at the end of its handshake. */
export interface Greeting {
  readonly transport: Transport;
  /** The client capabilities that are declared to the server. */
  readonly capabilities: JsonObject;
  /** False once the transport was replaced or closed. */
  readonly isCurrent: () => boolean;
  readonly ping: () => Promise<unknown>;
  /** Questions that the server asks meanwhile. */
  readonly questions: {
    readonly wereAsked: boolean;
    /** Resolves when no question is open, or when the limit has passed. @param limit runs the given function when the time is over. */
    quiet(limit: (run: () => void) => { cancel(): void }): Promise<void>;
  };
  readonly wheel: DeadlineWheel;
  readonly limitMs: number;
}

/** One attempt of a call, after which the server may demand something before it answers. */
export interface Sending {
  readonly method: ExchangeMethod;
  readonly params: JsonObject;
  readonly context: RequestContext;
  /** How often the server has demanded something before. */
  readonly round: number;
  readonly wheel: DeadlineWheel;
  /** False once the call has ended otherwise. */
  isOpen(): boolean;
  /** Goes on after a wait. A wait that fails, or a continuation that throws, ends this call alone. */
  after<Got>(wait: Promise<Got>, goOn: (got: Got) => void): void;
  /** Asks the call's client. */
  askClient(method: InputMethod, params: JsonObject, respond: (answer: InputAnswer) => void): void;
  /** Sends the call's request again, in the next round. */
  again(params: JsonObject): void;
  /** Ends the call without another request. */
  finish(outcome: ExchangeOutcome): void;
  /** Sends another request for the same call. */
  request(method: string, params: JsonObject, capabilities: JsonObject): Promise<ExchangeOutcome>;
  /** The server works on the call. @param message its words about that. @param step how often it has reported. */
  report(message: string | undefined, step: number): void;
  /** Reads the server's list of tools again. */
  refreshTools(): Promise<void>;
  /** Closes the connection and finds out again which era the server speaks. */
  reconnect(problem: string): void;
}

export interface ServerDialect {
  /** Whether the server keeps a session for the connection, which it may lose: then a new one is opened. */
  readonly renewsSession: boolean;
  /** How calls share the first connection. */
  readonly sharing: Leg;
  /** Whether the server keeps the log level it was set to; otherwise each request names its own. */
  readonly keepsLogLevel: boolean;
  /** Whether the server accepts notifications of clients. */
  readonly hearsNotifications: boolean;
  /** Whether a JSON-RPC error in the body of an HTTP refusal is the answer to the request, whatever the status. */
  readonly refusesInBody: boolean;
  /** The request that a server answers as long as it is alive. */
  readonly signOfLife: 'ping' | 'server/discover';
  /** Sends a request. @param progressToken the token under which the server is to report progress; undefined if it is not wanted. */
  request(transport: Transport, id: number, said: Said, progressToken: number | undefined, server: KnownServer): void;
  /** Cancels a request at the server (basic/utilities/cancellation). */
  cancel(transport: Transport, id: number, reason: string): void;
  /** Resolves when the server can be used. */
  greet(greeting: Greeting): Promise<void>;
  /** The one subscription for everything that the server announces; undefined for a server that announces changes without one, and for which each resource is subscribed by a request. */
  listen(port: ListenPort, wheel: DeadlineWheel, server: ServerIntroduction): StandingListen | undefined;
  /** Looks at the outcome of a call. @returns false when it is final, as every outcome is where this is left out; else the call goes on, and is ended by `sending.finish`. */
  goesOn?(sending: Sending, outcome: ExchangeOutcome): boolean;
}
