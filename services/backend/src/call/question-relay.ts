/**
 * Passes a server's questions to its call or session, and the answers back. A question is known by a number of the gateway, since each
 * connection counts its own.
 */
import { randomInt } from 'node:crypto';
import { setLast } from '@omnibus/collections';
import { subjects, type Bus } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault,
  isObject,
  relatedTaskOf,
  toErrorObject,
  urlElicitationRequired,
  withoutHopMeta,
  urlProblem,
  type Asker,
  type ExchangeEvent,
  type ExchangeId,
  type ExchangeOutcome,
  type InputAnswer,
  type InputKey,
  type InputMethod,
  type JsonObject,
  type JsonRpcId,
  type QuestionMethod,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { QuestionTarget, Question } from '../connection/questions.ts';

/** A call whose server may ask questions. */
export interface AskedCall {
  readonly exchange: ExchangeId;
  readonly session: SessionKey;
  readonly reply: (event: ExchangeEvent) => void;
  /** The roots of its client, if the client has told them already. */
  readonly roots?: InputAnswer | undefined;
}

interface OpenQuestion {
  /** Undefined for a question of a server of 2026-07-28, for which nothing waits on its connection. */
  readonly question?: Question;
  readonly connection?: UpstreamConnection;
  readonly respond: (answer: InputAnswer) => void;
  readonly asker: Asker;
  /** Earlier calls of the question that have ended; an answer may be in transit from one of them. */
  readonly before?: ReadonlySet<Asker>;
  /** The call that took the question over need not ask: the earlier call has the answer. */
  readonly answeredBefore?: () => void;
  /** Asks once more. */
  readonly again: () => void;
  /** The deadline of a question outside any call, which nothing else ends. */
  readonly limit?: Deadline;
}

export interface QuestionRelayOptions {
  readonly bus: Bus;
  readonly server: ServerName;
  readonly wheel: DeadlineWheel;
}

/** Looks at the server's questions for a feature. Members that it leaves out are not called. */
export interface QuestionChecks {
  /** The refusal of a server's question; undefined if it may ask. */
  questionRefusal?(method: QuestionMethod, params: JsonObject): InputAnswer | undefined;
  /** The client's answer, or the refusal. */
  answer?(method: QuestionMethod, params: JsonObject, answer: InputAnswer): InputAnswer;
  /** The tool that a task runs, by the server's own name; undefined if this feature does not know the task. */
  toolOf?(connection: UpstreamConnection, task: unknown): string | undefined;
}

/** Time that a client has to answer a question outside any call. */
const ownerAnswerMs = 10 * 60_000;
/** Bound on elicitations by URL with a pending completion. */
const maxElicitations = 1_000;
const invalidParams = -32_602;
const wasAnswered = 'it was answered in the call that was asked first';

export class QuestionRelay {
  readonly #options: QuestionRelayOptions;
  readonly #open = new Map<InputKey, OpenQuestion>();
  /** Whether a question is open. */
  isOpen = false;
  readonly #elicitations = new Map<string, SessionKey>();
  #checks: readonly QuestionChecks[] = [];
  /** Starts at a random number, so that two replicas of an adapter do not use the same ones. */
  #nextInput = randomInt(2 ** 40);

  constructor(options: QuestionRelayOptions) {
    this.#options = options;
  }

  /** From now on these look at questions, in this order. */
  join(checks: readonly QuestionChecks[]): void {
    this.#checks = checks;
  }

  /** Asks the client of a call. */
  ask(call: AskedCall, connection: UpstreamConnection, question: Question): void {
    if (question.method === 'roots/list' && call.roots !== undefined) {
      connection.respond(question.id, call.roots);
      return;
    }
    if (this.#isRefused(question, (answer) => connection.respond(question.id, answer))) return;
    const again = (): void => call.reply({ kind: 'input', input, method: question.method, params: question.params });
    const input = this.#add({
      question,
      connection,
      respond: (answer) => connection.respond(question.id, this.#checked(question, answer)),
      asker: call.exchange,
      again,
    });
    const { elicitationId } = question.params;
    if (typeof elicitationId === 'string') this.#rememberElicitation(elicitationId, call.session);
    again();
  }

  /** A call takes over the question of another call that has ended. */
  adopt(call: AskedCall, connection: UpstreamConnection, question: Question): void {
    this.#move(connection, question, (input, open) => {
      const again = (): void =>
        call.reply({
          kind: 'input',
          input,
          method: question.method,
          params: question.params,
          movedFrom: open.asker as ExchangeId,
        });
      return {
        ...open,
        asker: call.exchange,
        again,
        answeredBefore: () => call.reply({ kind: 'input-withdrawn', input, reason: wasAnswered }),
      };
    });
  }

  #move(
    connection: UpstreamConnection,
    question: Question,
    moved: (input: InputKey, open: OpenQuestion) => OpenQuestion,
  ): void {
    for (const [input, open] of this.#open) {
      if (open.connection !== connection || open.question !== question) continue;
      const next: OpenQuestion = { ...moved(input, open), before: new Set(open.before).add(open.asker) };
      this.#open.set(input, next);
      next.again();
    }
  }

  /** The server no longer waits for the answer of a call. */
  withdraw(call: AskedCall, id: JsonRpcId, reason: string): void {
    this.#withdraw(call.exchange, id, (input) => call.reply({ kind: 'input-withdrawn', input, reason }));
  }

  /** Asks the client of a call for the inputs that a server of 2026-07-28 requires. */
  askForRound(call: AskedCall, method: InputMethod, params: JsonObject, respond: (answer: InputAnswer) => void): void {
    const problem = method === 'elicitation/create' ? urlProblem(params) : undefined;
    if (problem !== undefined) {
      respond({ error: { code: invalidParams, message: problem } });
      return;
    }
    if (this.#isRefused({ method, params }, respond)) return;
    const again = (): void => call.reply({ kind: 'input', input, method, params });
    const input = this.#add({
      respond: (answer) => respond(this.#checked({ method, params }, answer)),
      asker: call.exchange,
      again,
    });
    again();
  }

  /** The receiver of questions outside any call, as right after the handshake, on a connection that one session has alone. */
  ofSession(session: SessionKey, connection: () => UpstreamConnection): QuestionTarget {
    const { bus, server, wheel } = this.#options;
    const sessions = [session];
    const limited = (input: () => InputKey): Deadline =>
      wheel.schedule(ownerAnswerMs, () =>
        this.answer(session, input(), { error: toErrorObject(fault('input.timeout')) }),
      );
    const publish = (question: Question, input: InputKey, more: { readonly movedFrom?: ExchangeId } = {}): void => {
      const task = relatedTaskOf(question.params);
      const tool = task === undefined ? undefined : this.#toolOf(connection(), task);
      bus.publish(subjects.notices, {
        kind: 'question',
        server,
        input,
        method: question.method,
        params: question.params,
        place: connection().run.place,
        ...(tool === undefined ? {} : { tool }),
        sessions,
        ...more,
      });
    };
    const takeBack = (input: InputKey, reason: string): void =>
      bus.publish(subjects.notices, { kind: 'question-withdrawn', server, input, reason, sessions });
    return {
      session,
      task: undefined,
      adopt: (question) =>
        this.#move(connection(), question, (input, open) => ({
          ...open,
          asker: session,
          limit: limited(() => input),
          again: () => publish(question, input, { movedFrom: open.asker as ExchangeId }),
          answeredBefore: () => takeBack(input, wasAnswered),
        })),
      ask: (question) => {
        if (this.#isRefused(question, (answer) => connection().respond(question.id, answer))) return;
        const again = (): void => publish(question, input);
        const respond = (answer: InputAnswer): void =>
          connection().respond(question.id, this.#checked(question, answer));
        const input = this.#add({
          question,
          connection: connection(),
          respond,
          asker: session,
          again,
          limit: limited(() => input),
        });
        const { elicitationId } = question.params;
        if (typeof elicitationId === 'string') this.#rememberElicitation(elicitationId, session);
        again();
      },
      withdraw: (id, reason) => this.#withdraw(session, id, (input) => takeBack(input, reason)),
    };
  }

  answer(asker: Asker, input: InputKey, answer: InputAnswer): void {
    const open = this.#open.get(input);
    if (open === undefined || (open.asker !== asker && open.before?.has(asker) !== true)) return;
    this.#take(open.asker, input);
    open.respond(answer);
    if (open.asker !== asker) open.answeredBefore?.();
  }

  passProgress(asker: Asker, input: InputKey, params: JsonObject): void {
    const open = this.#open.get(input);
    if (open?.asker !== asker) return;
    const meta = open.question?.params['_meta'];
    const progressToken = isObject(meta) ? meta['progressToken'] : undefined;
    if (progressToken !== undefined) open.connection?.notify('notifications/progress', { ...params, progressToken });
  }

  /** Sends open questions again, since a question or its answer may have been lost: a session that has the question, or has answered it, says so. */
  askAgain(exchanges: readonly ExchangeId[]): void {
    if (this.#open.size === 0) return;
    for (const { asker, again } of this.#open.values()) if ((exchanges as readonly Asker[]).includes(asker)) again();
  }

  /** A call has ended, and its questions are void. */
  forget(exchange: ExchangeId): void {
    for (const [input, { asker }] of this.#open) if (asker === exchange) this.#open.delete(input);
    this.isOpen = this.#open.size > 0;
  }

  /** An error may demand elicitations by URL too; their completion is announced like that of others. */
  rememberElicitations(outcome: ExchangeOutcome, session: SessionKey): void {
    if (outcome.kind !== 'error' || outcome.error.code !== urlElicitationRequired || !isObject(outcome.error.data))
      return;
    const { elicitations } = outcome.error.data;
    if (!Array.isArray(elicitations)) return;
    for (const elicitation of elicitations) {
      if (isObject(elicitation) && typeof elicitation['elicitationId'] === 'string')
        this.#rememberElicitation(elicitation['elicitationId'], session);
    }
  }

  /** The server announces that the user has completed an elicitation by URL. */
  announceCompletion(params: JsonObject | undefined): void {
    const { elicitationId, ...more } = withoutHopMeta(params ?? {});
    const session = typeof elicitationId === 'string' ? this.#elicitations.get(elicitationId) : undefined;
    if (session === undefined || typeof elicitationId !== 'string') return;
    this.#elicitations.delete(elicitationId);
    this.#options.bus.publish(subjects.notices, {
      kind: 'elicitation-complete',
      server: this.#options.server,
      elicitationId,
      ...(Object.keys(more).length === 0 ? {} : { more }),
      sessions: [session],
    });
  }

  #isRefused({ method, params }: Pick<Question, 'method' | 'params'>, respond: (answer: InputAnswer) => void): boolean {
    let refusal: InputAnswer | undefined;
    for (const check of this.#checks) refusal ??= check.questionRefusal?.(method, params);
    if (refusal !== undefined) respond(refusal);
    return refusal !== undefined;
  }

  #checked({ method, params }: Pick<Question, 'method' | 'params'>, answer: InputAnswer): InputAnswer {
    let checked = answer;
    for (const check of this.#checks) checked = check.answer?.(method, params, checked) ?? checked;
    return checked;
  }

  #toolOf(connection: UpstreamConnection, task: unknown): string | undefined {
    let tool: string | undefined;
    for (const check of this.#checks) tool ??= check.toolOf?.(connection, task);
    return tool;
  }

  #add(open: OpenQuestion): InputKey {
    this.#nextInput += 1;
    this.#open.set(this.#nextInput, open);
    this.isOpen = true;
    return this.#nextInput;
  }

  #take(asker: Asker, input: InputKey): OpenQuestion | undefined {
    const open = this.#open.get(input);
    if (open?.asker !== asker) return undefined;
    open.limit?.cancel();
    this.#open.delete(input);
    this.isOpen = this.#open.size > 0;
    return open;
  }

  #withdraw(asker: Asker, id: JsonRpcId, tell: (input: InputKey) => void): void {
    for (const [input, open] of this.#open) {
      if (open.asker !== asker || open.question?.id !== id) continue;
      this.#take(asker, input);
      tell(input);
    }
  }

  #rememberElicitation(id: string, session: SessionKey): void {
    setLast(this.#elicitations, id, session, maxElicitations);
  }
}
