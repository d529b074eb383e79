/** The client of one call without a session, as the code that carries the call sees it. Its latest request gives its capabilities, log level and progress token. */
import type { View } from '@omnibus/catalog';
import {
  clientInfoOf,
  conversationIn,
  isInputMethod,
  isLogLevel,
  isObject,
  logLevels,
  metaKeys,
  type Caller,
  type ClientInfo,
  type ExchangeEvent,
  type Facts,
  type InputKey,
  type JsonObject,
  type JsonRpcId,
  type LogLevel,
  type ProgressEvent,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import { CallQuestions, canBeAsked } from '../call/call-questions.ts';
import type { CallStream, ClientPort } from '../call/client-port.ts';
import type { Questioner } from '../call/transform.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import type { TaskMode } from '../dialect/dialect.ts';
import { modernDialect } from '../dialect/modern/dialect.ts';

import { progressTokenOf, type PendingReply } from './pending-reply.ts';
import type { LinkedResources } from '../call/routes/linked-resources.ts';
import type { LinkedResourcesOfClients } from './linked-resources-of-clients.ts';
import { RoundProgress } from './round-progress.ts';
import type { StatelessHost } from './stateless-host.ts';

/** The call, as far as its client needs it. */
interface AskedCall {
  /** Whether its client has an open question. */
  readonly isParked: boolean;
  /** Called when there is a new question. */
  questionAsked(): void;
}

/** Shared state of the clients of all calls. */
export interface CallClientHost {
  readonly host: Pick<StatelessHost, 'factsOf' | 'viewAlone'>;
  readonly linkedResources: LinkedResourcesOfClients;
}

const methodNotFound = -32_601;

export class CallClient implements ClientPort<CallStream> {
  readonly session = undefined;
  readonly dialect = modernDialect;
  readonly key: SessionKey;
  readonly caller: Caller;
  /** The latest request; only `goesOn` writes it and the next three. */
  latest: PendingReply;
  asking: Caller;
  capabilities: JsonObject;
  logLevel: LogLevel | undefined;
  readonly #of: CallClientHost;
  readonly #call: AskedCall;
  /** Made when its server first asks something, or reports progress: most never do. */
  #questions: CallQuestions | undefined;
  #progress: RoundProgress | undefined;

  /** @param first the request with which the call began. */
  constructor(of: CallClientHost, first: PendingReply, call: AskedCall) {
    this.key = first.command.key;
    this.caller = first.command.caller;
    this.latest = first;
    this.asking = first.command.caller;
    this.capabilities = offeredCapabilities(first.command.context.capabilities);
    this.logLevel = first.command.context.logLevel;
    this.#of = of;
    this.#call = call;
  }

  get questions(): CallQuestions {
    this.#questions ??= new CallQuestions();
    return this.#questions;
  }

  get progress(): RoundProgress {
    this.#progress ??= new RoundProgress();
    return this.#progress;
  }

  get linkedResources(): LinkedResources {
    return this.#of.linkedResources.of(this.caller);
  }

  view(): View | undefined {
    const { caller, context } = this.latest.command;
    return this.#of.host.viewAlone(caller, context.capabilities);
  }

  get conversation(): string | undefined {
    return conversationIn(this.latest.command.request.params?.['_meta']);
  }

  get info(): ClientInfo | undefined {
    const meta = this.latest.command.request.params?.['_meta'];
    return isObject(meta) ? clientInfoOf(meta[metaKeys.clientInfo]) : undefined;
  }

  get facts(): Facts | undefined {
    return this.#of.host.factsOf(this.asking);
  }

  /**
   * The client continues the call with this request.
   * From now on, its sender, capabilities, log level and progress token replace those of the request before.
   */
  goesOn(latest: PendingReply): void {
    const { caller, context } = latest.command;
    this.latest = latest;
    this.asking = caller;
    this.capabilities = offeredCapabilities(context.capabilities);
    this.logLevel = context.logLevel;
  }

  taskMode(): TaskMode {
    return this.dialect.taskMode(this.latest.command.context.capabilities);
  }

  push(): void {
    // Nothing outlives a request of this revision.
  }

  /** The token of its latest request; while no request is open, progress waits for the next one. */
  progressToken(_token: JsonRpcId, event: ProgressEvent): JsonRpcId | undefined {
    return this.#call.isParked
      ? this.progress.keep(event)
      : this.progress.tokenFor(event, progressTokenOf(this.latest));
  }

  wantsLog({ level }: JsonObject): boolean {
    const wanted = this.logLevel;
    return wanted !== undefined && (!isLogLevel(level) || logLevels.indexOf(level) >= logLevels.indexOf(wanted));
  }

  ask(
    asker: Questioner,
    _call: unknown,
    _server: ServerName,
    { input, method, params, movedFrom }: Extract<ExchangeEvent, { kind: 'input' }>,
  ): void {
    if (movedFrom !== undefined && this.questions.has(asker, input)) return;
    // What no revision knows has no place among `inputRequests` (2026-07-28 basic/patterns, Multi Round-Trip Requests).
    if (!isInputMethod(method) || !canBeAsked(this.capabilities, method, params)) {
      asker.answerInput(input, {
        error: { code: methodNotFound, message: `the client declared no capability for ${method}` },
      });
      return;
    }
    this.questions.add(asker, input, method, params);
    this.#call.questionAsked();
  }

  inputWithdrawn(asker: Questioner, input: InputKey): void {
    this.questions.withdraw(asker, input);
  }

  askerEnded(asker: Questioner): void {
    this.questions.withdrawAll(asker);
  }
}
