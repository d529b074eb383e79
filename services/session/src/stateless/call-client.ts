/** The client of one call without a session, as those know it who carry the call: its latest request tells what it can do and wants. */
import type { View } from '@omnibus/catalog';
import {
  carriedExtensions, inputCapabilities, isCustomMethod, isInputMethod, isLogLevel, isObject, logLevels, modernCodes,
  type Caller, type ExchangeEvent, type ExchangeMethod, type InputKey, type InputMethod, type JsonObject, type JsonRpcId, type LogLevel, type ProgressEvent, type ServerName, type SessionKey,
} from '@omnibus/protocol';
import type { CallStream, ClientPort } from '../call/client-port.ts';
import type { Exchange } from '../call/exchange.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import type { ServerAnswer, TaskMode } from '../dialect/dialect.ts';
import { logText } from '../dialect/messages.ts';
import { modernDialect } from '../dialect/modern/dialect.ts';
import type { CallQuestions } from './call-questions.ts';
import { progressTokenOf, type PendingReply } from './pending-reply.ts';
import { RoundProgress } from './round-progress.ts';

export interface CallClientOptions {
  /** The request with which the call began. */
  readonly first: PendingReply;
  /** What a client brings back in place of a state that its server wants back. */
  readonly bindState: (text: string) => string;
  /** What to answer when the server wants addresses visited before it is called again. */
  readonly urlsRequired: (error: JsonObject) => JsonObject | undefined;
}

/** The call of the client. */
interface AskedCall {
  /** Its client has been asked, and has not come back. */
  readonly isParked: boolean;
  /** There is a question that was not there before. */
  questionAsked(): void;
}

const methodNotFound = -32_601;

export class CallClient implements ClientPort<CallStream> {
  readonly standsAlone = true;
  readonly dialect = modernDialect;
  readonly key: SessionKey;
  readonly caller: Caller;
  /** Its capabilities, log level and progress token count. */
  latest: PendingReply;
  /** With which the answer goes out. */
  httpStatus = 200;
  readonly progress = new RoundProgress();
  readonly #options: CallClientOptions;
  readonly #questions: CallQuestions;
  readonly #call: AskedCall;

  constructor(options: CallClientOptions, questions: CallQuestions, call: AskedCall) {
    const { first } = options;
    this.key = first.command.key;
    this.caller = first.command.caller;
    this.latest = first;
    this.#options = options;
    this.#questions = questions;
    this.#call = call;
  }

  capabilities(): JsonObject {
    return offeredCapabilities(this.latest.command.context.capabilities, carriedExtensions);
  }

  logLevel(): LogLevel | undefined {
    return this.latest.command.context.logLevel;
  }

  taskMode(): TaskMode {
    return modernDialect.taskMode(this.latest.command.context.capabilities);
  }

  push(): void {
    // Nothing outlives a request of this revision.
  }

  progressText(_token: JsonRpcId, event: ProgressEvent): string | undefined {
    return this.#call.isParked ? this.progress.keep(event) : this.progress.text(event, progressTokenOf(this.latest));
  }

  logText(params: JsonObject, view: View, server: ServerName): string | undefined {
    const wanted = this.logLevel();
    const { level } = params;
    if (wanted === undefined || (isLogLevel(level) && logLevels.indexOf(level) < logLevels.indexOf(wanted))) return undefined;
    return logText(params, view.definition.servers.length > 1 ? server : undefined);
  }

  ask(asker: Exchange, _call: unknown, _server: ServerName, { input, method, params, movedFrom }: Extract<ExchangeEvent, { kind: 'input' }>): void {
    if (movedFrom !== undefined && this.#questions.has(input)) return;
    // What no revision knows has no place among `inputRequests` (2026-07-28 basic/patterns, Multi Round-Trip Requests).
    if (!isInputMethod(method) || !this.#canBeAsked(method, params)) {
      asker.answerInput(input, { error: { code: methodNotFound, message: `the client declared no capability for ${method}` } });
      return;
    }
    this.#questions.add(asker, input, method, params);
    this.#call.questionAsked();
  }

  inputWithdrawn(_asker: Exchange, input: InputKey): void {
    this.#questions.withdraw(input);
  }

  askerEnded(asker: Exchange): void {
    this.#questions.withdrawAll(asker);
  }

  answerOf(method: ExchangeMethod, outcome: ServerAnswer): ServerAnswer {
    const required = outcome.kind === 'error' ? this.#options.urlsRequired({ ...outcome.error }) : undefined;
    if (required !== undefined) return { kind: 'result', result: required };
    const answer = modernDialect.answerOf(method, outcome);
    if (answer.kind === 'error') {
      if (answer.error.code === modernCodes.capabilityMissing) this.httpStatus = 400;
      else if (answer.error.code === methodNotFound && isCustomMethod(method)) this.httpStatus = 404;
      return answer;
    }
    const { resultType, requestState } = answer.result;
    return resultType === 'input_required' && typeof requestState === 'string' ? { kind: 'result', result: { ...answer.result, requestState: this.#options.bindState(requestState) } } : answer;
  }

  #canBeAsked(method: InputMethod, params: JsonObject): boolean {
    const capability = this.capabilities()[inputCapabilities[method]];
    return isObject(capability) && (params['mode'] !== 'url' || isObject(capability['url']));
  }
}
