/**
 * One attempt of a call: passes on the server's messages, questions and answer. When a server demands something before it answers, the request is sent
 * again, as another attempt of the same call (`dialect/modern/going-on.ts`).
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  mannerOf,
  type ExchangeContext,
  type ExchangeMethod,
  type ExchangeOutcome,
  type InputAnswer,
  type InputMethod,
  type JsonObject,
  type JsonRpcId,
  type LogLevel,
  type Principal,
  type SessionKey,
} from '@omnibus/protocol';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { PendingReply } from '../connection/pending-reply.ts';
import type { Progress } from '../connection/progress.ts';
import type { Question } from '../connection/questions.ts';
import { CallWords } from './call-words.ts';
import type { Call, RunningCall } from './call.ts';

/** Asks the clients of calls (`question-relay.ts`). */
export interface CallQuestions {
  ask(call: Call, connection: UpstreamConnection, question: Question): void;
  adopt(call: Call, connection: UpstreamConnection, question: Question): void;
  withdraw(call: Call, id: JsonRpcId, reason: string): void;
  askForRound(call: Call, method: InputMethod, params: JsonObject, respond: (answer: InputAnswer) => void): void;
}

export interface AttemptPort {
  readonly wheel: DeadlineWheel;
  readonly questions: CallQuestions;
  /** Reads the server's list of tools again. */
  readonly refreshTools: () => Promise<void>;
  /** The least severe log messages that the client of a call gets; undefined for all. */
  least(call: Call): LogLevel | undefined;
  /** A log message of a call is dropped, because there are too many. */
  readonly dropped: () => void;
  /** Whether the call has not ended yet. */
  isOpen(call: Call): boolean;
  /** Goes on with a call that has waited, if its session worker still waits for it. */
  resume(call: Call, go: () => void): void;
  /** The server has given its final answer. */
  answered(attempt: Attempt, outcome: ExchangeOutcome, requestId: number): void;
  /** The call has ended without another answer. */
  finish(call: Call, outcome: ExchangeOutcome): void;
  /** A bug in the gateway ends the call that met it, and nothing else. */
  failed(call: Call, error: unknown): void;
}

export class Attempt implements PendingReply, RunningCall {
  readonly call: Call;
  readonly connection: UpstreamConnection;
  readonly method: ExchangeMethod;
  readonly context: ExchangeContext;
  readonly params: JsonObject;
  /** How often the server has demanded something of the client before. */
  round = 0;
  readonly session: SessionKey;
  readonly principal: Principal;
  readonly task: string | undefined;
  readonly listens: boolean;
  readonly #port: AttemptPort;
  /** Id of the request; undefined until it was sent. */
  #id: number | undefined;

  constructor(port: AttemptPort, call: Call, connection: UpstreamConnection, params: JsonObject) {
    const { method, context } = call.command;
    const { client, principal, session } = context;
    const { taskId } = params;
    this.#port = port;
    this.call = call;
    this.connection = connection;
    this.method = method;
    this.context = context;
    this.params = params;
    this.session = client?.isOne === true ? (client.id as SessionKey) : session;
    this.principal = principal;
    this.task = typeof taskId === 'string' ? taskId : undefined;
    this.listens = mannerOf(context).lasts;
  }

  get wheel(): DeadlineWheel {
    return this.#port.wheel;
  }

  /** Gives the connection of the call back. */
  end(): void {
    this.call.end();
  }

  send(): void {
    this.#id = this.connection.request(this.method, this.params, this, this.context);
    this.call.running = this;
    for (const watched of this.call.watched) watched.written?.(this.#id, this.round);
  }

  cancel(reason: string, isTimeout: boolean): void {
    if (this.#id !== undefined) this.connection.cancel(this.#id, reason, isTimeout);
  }

  // --- messages of the server -----------------------------------------------------------------------------------------------

  ask(question: Question): void {
    for (const watched of this.call.watched) watched.asked?.(question.method);
    this.#port.questions.ask(this.call, this.connection, question);
  }

  adopt(question: Question): void {
    this.#port.questions.adopt(this.call, this.connection, question);
  }

  withdraw(id: JsonRpcId, reason: string): void {
    this.#port.questions.withdraw(this.call, id, reason);
  }

  progress(progress: Progress): void {
    this.#words.progress(progress);
    for (const watched of this.call.watched) watched.progressed?.(progress);
  }

  log(params: JsonObject): void {
    this.#words.log(params);
  }

  resume(go: () => void): void {
    this.#port.resume(this.call, go);
  }

  doubt(problem: string): void {
    this.call.reply({ kind: 'doubt', problem });
  }

  notification(method: string, params: JsonObject | undefined): void {
    this.#words.notification(method, params);
  }

  settle(outcome: ExchangeOutcome, requestId: number): void {
    try {
      if (this.connection.dialect.goesOn?.(this, outcome) !== true) this.#port.answered(this, outcome, requestId);
    } catch (error) {
      this.#port.failed(this.call, error);
    }
  }

  get #words(): CallWords {
    return wordsOf(this.call, this.#port);
  }

  // --- demands before the answer ---------------------------------------------------------------------------------------------

  isOpen(): boolean {
    return this.#port.isOpen(this.call);
  }

  after<Got>(wait: Promise<Got>, goOn: (got: Got) => void): void {
    wait.then(goOn).catch((error: unknown) => this.#port.failed(this.call, error));
  }

  askClient(method: InputMethod, params: JsonObject, respond: (answer: InputAnswer) => void): void {
    this.#port.questions.askForRound(this.call, method, params, respond);
  }

  again(params: JsonObject): void {
    const next = new Attempt(this.#port, this.call, this.connection, params);
    next.round = this.round + 1;
    next.send();
  }

  finish(outcome: ExchangeOutcome): void {
    this.end();
    this.#port.finish(this.call, outcome);
  }

  request(method: string, params: JsonObject, capabilities: JsonObject): Promise<ExchangeOutcome> {
    return this.connection.ask(method, params, this.context.maxTimeMs, { ...this.context, capabilities });
  }

  report(message: string | undefined, step: number): void {
    if (message === undefined) this.#words.signOfLife();
    else this.#words.progress({ token: undefined, progress: step, message });
  }

  refreshTools(): Promise<void> {
    return this.#port.refreshTools();
  }

  reconnect(problem: string): void {
    this.connection.reconnect(problem);
  }
}

/** The server's messages about a call pass these, over all its attempts. */
export function wordsOf(call: Call, { dropped, least }: Pick<AttemptPort, 'dropped' | 'least'>): CallWords {
  call.words ??= new CallWords({
    context: call.command.context,
    reply: (event) => call.reply(event),
    dropped,
    least: () => least(call),
  });
  return call.words;
}
