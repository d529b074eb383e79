/** The client of one session, as those know it who carry its requests: what it declared, what it was offered, and where it is asked. */
import {
  declaredBy, sessionExtensions,
  type Caller, type ClientInfo, type Declared, type ExchangeEvent, type Facts, type InputKey, type JsonObject, type JsonRpcId, type LogLevel, type ServerName, type SessionKey,
} from '@omnibus/protocol';
import type { Access } from '../call/access.ts';
import type { CallHost } from '../call/call-host.ts';
import type { ClientPort, ForwardedCall, Questioner } from '../call/client-port.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import type { TaskMode } from '../dialect/dialect.ts';
import type { LegacyDialect } from '../dialect/legacy/dialect.ts';
import type { ClientLogLevel } from '../dialect/legacy/log-level.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { SessionStreams } from '../streams/session-streams.ts';
import type { ServerQuestions } from './server-questions.ts';

export interface SessionClientOptions {
  readonly host: Pick<CallHost, 'accessOf' | 'factsOf'>;
  readonly key: SessionKey;
  readonly caller: Caller;
  readonly streams: SessionStreams;
  readonly level: ClientLogLevel;
  /** Of the revision that was negotiated. */
  readonly dialect: () => LegacyDialect;
  readonly questions: () => ServerQuestions;
}

export class SessionClient implements ClientPort<PostStream> {
  readonly key: SessionKey;
  readonly caller: Caller;
  /** The same with what an edge said of it with its latest request: a fresh token may say something else. */
  asking: Caller;
  readonly standsAlone = false;
  /** What it is offered may depend on this part of what it declared. */
  declared: Declared;
  declaredBytes = 0;
  /** What it says it is. */
  info: ClientInfo | undefined;
  readonly level: ClientLogLevel;
  /** What it was told that there is. Lists of what it was not told of are not announced to it. */
  offered: ReadonlySet<string> = new Set();
  readonly #options: SessionClientOptions;
  #capabilities: JsonObject = {};

  constructor(options: SessionClientOptions) {
    this.key = options.key;
    this.caller = options.caller;
    this.asking = options.caller;
    this.declared = declaredBy({}, true, options.caller.principal);
    this.level = options.level;
    this.#options = options;
  }

  /** @param capabilities as it declared them. @param info what it says it is. */
  declare(capabilities: JsonObject, info: ClientInfo | undefined): void {
    this.info = info;
    this.declaredBytes = JSON.stringify(capabilities).length;
    this.#capabilities = offeredCapabilities(capabilities, sessionExtensions);
    this.declared = declaredBy(this.#capabilities, true, this.caller.principal);
  }

  get dialect(): LegacyDialect {
    return this.#options.dialect();
  }

  /** What servers may ask of it. */
  capabilities(): JsonObject {
    return this.#capabilities;
  }

  logLevel(): LogLevel | undefined {
    return this.level.current;
  }

  taskMode(): TaskMode {
    return this.dialect.taskMode;
  }

  get facts(): Facts | undefined {
    return this.#options.host.factsOf(this.asking);
  }

  access(): Access | undefined {
    return this.#options.host.accessOf(this.asking);
  }

  push(text: string): void {
    this.#options.streams.push(text);
  }

  /** It hears of everything. */
  progressToken(token: JsonRpcId): JsonRpcId {
    return token;
  }

  /** A client that set no level wants the messages of its own calls. */
  wantsLog(params: JsonObject): boolean {
    return this.level.wants(params);
  }

  ask(asker: Questioner, { stream }: ForwardedCall<PostStream>, _server: ServerName, event: Extract<ExchangeEvent, { kind: 'input' }>): void {
    this.#options.questions().ofCall(asker, stream, event);
  }

  inputWithdrawn(asker: Questioner, input: InputKey, reason: string): void {
    this.#options.questions().withdraw(asker, input, reason);
  }

  askerEnded(asker: Questioner, reason: string): void {
    this.#options.questions().withdrawAll(asker, reason);
  }
}
