/** The client of one session, as the code that carries its requests sees it: its capabilities, its lists, and the stream for questions. */
import type { View } from '@omnibus/catalog';
import {
  declaredBy,
  latestLegacyRevision,
  tasksExtension,
  type Caller,
  type ClientInfo,
  type Declared,
  type ExchangeEvent,
  type Facts,
  type InputKey,
  type JsonObject,
  type JsonRpcId,
  type LegacyRevision,
  type LogLevel,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import { LinkedResources } from '../call/routes/linked-resources.ts';
import type { ClientPort, ForwardedCall } from '../call/client-port.ts';
import type { Questioner } from '../call/transform.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import type { TaskMode } from '../dialect/dialect.ts';
import { legacyDialect, type LegacyDialect } from '../dialect/legacy/dialect.ts';
import type { ClientLogLevel } from '../dialect/legacy/log-level.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { SessionStreams } from '../streams/session-streams.ts';
import type { ServerQuestions } from './server-questions.ts';
import type { SessionHost } from './session-host.ts';

export interface SessionClientOptions {
  readonly host: Pick<SessionHost, 'factsOf' | 'view'>;
  readonly key: SessionKey;
  readonly caller: Caller;
  readonly streams: SessionStreams;
  readonly level: ClientLogLevel;
  readonly questions: () => ServerQuestions;
}

export class SessionClient implements ClientPort<PostStream> {
  readonly key: SessionKey;
  readonly session: SessionKey;
  readonly caller: Caller;
  /** The caller as of its latest request: a new token may contain other claims. */
  asking: Caller;
  /** The part of its capabilities on which the servers' offers may depend. */
  declared: Declared;
  declaredBytes = 0;
  capabilities: JsonObject = {};
  info: ClientInfo | undefined;
  readonly level: ClientLogLevel;
  /** The dialect of the negotiated revision. */
  dialect: LegacyDialect = legacyDialect(latestLegacyRevision);
  /** Capabilities that it was offered. Changes of lists that it was not offered are not announced to it. */
  offered: ReadonlySet<string> = new Set();
  readonly #options: SessionClientOptions;
  #linkedResources: LinkedResources | undefined;

  constructor(options: SessionClientOptions) {
    this.key = options.key;
    this.session = options.key;
    this.caller = options.caller;
    this.asking = options.caller;
    this.declared = declaredBy({}, true, options.caller.principal);
    this.level = options.level;
    this.#options = options;
  }

  /** Notes the client's declarations in `initialize`. @param revision the negotiated one. */
  declare(revision: LegacyRevision, capabilities: JsonObject, info: ClientInfo | undefined): void {
    this.dialect = legacyDialect(revision);
    this.info = info;
    this.declaredBytes = JSON.stringify(capabilities).length;
    this.capabilities = offeredCapabilities(capabilities, [tasksExtension]);
    this.declared = declaredBy(this.capabilities, true, this.caller.principal);
  }

  get linkedResources(): LinkedResources {
    this.#linkedResources ??= new LinkedResources();
    return this.#linkedResources;
  }

  get logLevel(): LogLevel | undefined {
    return this.level.current;
  }

  taskMode(): TaskMode {
    return this.dialect.taskMode;
  }

  get facts(): Facts | undefined {
    return this.#options.host.factsOf(this.asking);
  }

  view(): View | undefined {
    return this.#options.host.view(this.asking, this.declared);
  }

  push(text: string): void {
    this.#options.streams.push(text);
  }

  /** A client with a session gets all progress. */
  progressToken(token: JsonRpcId): JsonRpcId {
    return token;
  }

  /** A client that set no level wants the messages of its own calls. */
  wantsLog(params: JsonObject): boolean {
    return this.level.wants(params);
  }

  ask(
    asker: Questioner,
    { stream }: ForwardedCall<PostStream>,
    _server: ServerName,
    event: Extract<ExchangeEvent, { kind: 'input' }>,
  ): void {
    this.#options.questions().ofCall(asker, stream, event);
  }

  inputWithdrawn(asker: Questioner, input: InputKey, reason: string): void {
    this.#options.questions().withdraw(asker, input, reason);
  }

  askerEnded(asker: Questioner, reason: string): void {
    this.#options.questions().withdrawAll(asker, reason);
  }
}
