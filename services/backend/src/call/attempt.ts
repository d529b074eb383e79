/**
 * One attempt of a call: passes on what the server says and asks, and its answer. When a server demands something before it answers, the request is sent
 * again, as another attempt of the same call (`dialect/modern/going-on.ts`).
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type {
  ExchangeContext,
  ExchangeMethod,
  ExchangeOutcome,
  InputAnswer,
  InputMethod,
  JsonObject,
  JsonRpcId,
  Principal,
  SessionKey,
} from '@omnibus/protocol';
import type { CatalogPublisher } from '../catalog/publisher.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { PendingReply } from '../connection/pending-reply.ts';
import type { Progress } from '../connection/progress.ts';
import type { Question } from '../connection/questions.ts';
import type { LogLevels } from '../subscriptions/log-levels.ts';
import type { CallTelling } from './call-telling.ts';
import { CallWords } from './call-words.ts';
import type { Call } from './call.ts';
import type { QuestionRelay } from './question-relay.ts';

export interface AttemptPort {
  readonly wheel: DeadlineWheel;
  readonly catalog: Pick<CatalogPublisher, 'refresh'>;
  readonly questions: QuestionRelay;
  readonly levels: Pick<LogLevels, 'least'>;
  readonly telling: CallTelling;
  /** A log message of a call is passed to nobody, because there are too many. */
  readonly dropped: () => void;
  /** Whether the call has not ended yet. */
  isOpen(call: Call): boolean;
  /** The server has given its final answer. */
  answered(attempt: Attempt, outcome: ExchangeOutcome, requestId: number): void;
  /** The call has ended without another answer. */
  finish(call: Call, outcome: ExchangeOutcome): void;
}

export class Attempt implements PendingReply {
  readonly call: Call;
  readonly connection: UpstreamConnection;
  readonly params: JsonObject;
  /** How often the server has demanded something of the client before. */
  round = 0;
  readonly session: SessionKey;
  readonly principal: Principal;
  readonly listens: boolean;
  readonly task: string | undefined;
  /** Releases the connection. */
  readonly end: () => void;
  readonly #port: AttemptPort;
  /** Id of the request; undefined until it was sent. */
  #id: number | undefined;

  /** @param end releases the connection. */
  constructor(port: AttemptPort, call: Call, connection: UpstreamConnection, params: JsonObject, end: () => void) {
    const { client, principal, session, standsAlone } = call.command.context;
    const { taskId } = params;
    this.#port = port;
    this.call = call;
    this.connection = connection;
    this.params = params;
    this.end = end;
    this.session = client?.isOne === true ? (client.id as SessionKey) : session;
    this.principal = principal;
    this.listens = !standsAlone;
    this.task = typeof taskId === 'string' ? taskId : undefined;
  }

  get method(): ExchangeMethod {
    return this.call.command.method;
  }

  get context(): ExchangeContext {
    return this.call.command.context;
  }

  get wheel(): DeadlineWheel {
    return this.#port.wheel;
  }

  send(): void {
    this.#id = this.connection.request(this.method, this.params, this, this.context);
    this.call.running = this;
    if (this.call.tag !== undefined)
      this.#port.telling.tell(this.call, 'written', { request: this.#id, round: this.round });
  }

  cancel(reason: string, isTimeout: boolean): void {
    if (this.#id !== undefined) this.connection.cancel(this.#id, reason, isTimeout);
  }

  // --- what the server says -----------------------------------------------------------------------------------------------

  ask(question: Question): void {
    const { call, connection } = this;
    this.#port.telling.tell(call, 'server-asked', { asks: question.method });
    if (question.method === 'roots/list' && call.roots !== undefined) connection.respond(question.id, call.roots);
    else this.#port.questions.ask(call, connection, question);
  }

  adopt(question: Question): void {
    this.#port.questions.adopt(this.call, this.connection, question);
  }

  withdraw(id: JsonRpcId, reason: string): void {
    this.#port.questions.withdraw(this.call, id, reason);
  }

  progress(progress: Progress): void {
    this.#words.progress(progress);
    this.#port.telling.progress(this.call, progress);
  }

  log(params: JsonObject): void {
    this.#words.log(params);
  }

  notification(method: string, params: JsonObject | undefined): void {
    this.#words.notification(method, params);
  }

  settle(outcome: ExchangeOutcome, requestId: number): void {
    if (!this.connection.dialect.goesOn(this, outcome)) this.#port.answered(this, outcome, requestId);
  }

  get #words(): CallWords {
    return wordsOf(this.call, this.#port);
  }

  // --- what it takes to go on ---------------------------------------------------------------------------------------------

  isOpen(): boolean {
    return this.#port.isOpen(this.call);
  }

  askClient(method: InputMethod, params: JsonObject, respond: (answer: InputAnswer) => void): void {
    this.#port.questions.askForRound(this.call, method, params, respond);
  }

  again(params: JsonObject): void {
    const next = new Attempt(this.#port, this.call, this.connection, params, this.end);
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
    return this.#port.catalog.refresh('tools');
  }

  reconnect(problem: string): void {
    this.connection.reconnect(problem);
  }
}

/** What the server says about a call goes through these, over all its attempts. */
export function wordsOf(call: Call, { dropped, levels }: Pick<AttemptPort, 'dropped' | 'levels'>): CallWords {
  const { context } = call.command;
  call.words ??= new CallWords({
    context,
    reply: call.reply,
    dropped,
    least: () => (call.running === undefined ? context.logLevel : levels.least(call.running.connection, context)),
  });
  return call.words;
}
