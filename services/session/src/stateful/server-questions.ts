/** Questions of servers to the client of one session, in the form of its revision, and its answers. */
import { haveFormerWorkersEnded, subjects } from '@omnibus/bus';
import {
  askerOf,
  fault,
  inputCapabilities,
  isInputMethod,
  toErrorObject,
  type ControlCommand,
  type ExchangeEvent,
  type InputAnswer,
  type InputKey,
  type JsonObject,
  type JsonRpcResponse,
  type LateReply,
  type PostedMessage,
  type QuestionMethod,
  type ServerName,
  type ServerNotice,
  type SessionKey,
  type SessionRecord,
  type WorkerId,
} from '@omnibus/protocol';
import type { CallStream } from '../call/client-port.ts';
import type { Questioner } from '../call/transform.ts';
import type { PublicMessages } from '../call/public-messages.ts';
import type { Requester, WatchedQuestions } from '../call/watchers.ts';
import type { LegacyDialect } from '../dialect/legacy/dialect.ts';
import { PendingQuestions, type PendingQuestion, type StandingQuestion } from './pending-questions.ts';
import type { SessionHost } from './session-host.ts';

export interface ServerQuestionsOptions {
  readonly key: SessionKey;
  readonly host: Pick<SessionHost, 'bus' | 'metrics' | 'nextQuestionId' | 'passOn' | 'watchers'>;
  readonly client: Requester & {
    readonly dialect: Pick<LegacyDialect, 'questionOf'>;
    readonly capabilities: JsonObject;
  };
  /** Translates ids in questions for the client, and in its answers for the server. */
  readonly messages: Pick<PublicMessages<CallStream>, 'question' | 'original'>;
  /** Looks at answers to questions outside calls, before they are passed on to `waits`. */
  readonly asker: (server: ServerName, waits: Questioner) => Questioner;
  /** Sends a message that belongs to no call. */
  readonly push: (text: string) => void;
  /** Called when the open questions in the session's record have changed. */
  readonly changed: () => void;
}

type InputEvent = Extract<ExchangeEvent, { kind: 'input' }>;
type NamedNotice<Kind extends ServerNotice['kind']> = Extract<ServerNotice, { kind: Kind }>;

/** A message of a client that is not answered. */
type Remark = Exclude<PostedMessage, { kind: 'request' }>;

export class ServerQuestions {
  readonly #options: ServerQuestionsOptions;
  readonly #requests: PendingQuestions;
  /** Of servers with questions that belong to no call; undefined before the first. */
  #questioners: Map<ServerName, Questioner> | undefined;
  /** What watches these questions, by server. */
  #watched: Map<ServerName, readonly WatchedQuestions[]> | undefined;
  /** Whether the session's record contains questions that belong to no call. */
  #wasStanding = false;
  /** The worker that held the session before this one. */
  heldBefore: WorkerId | undefined;

  constructor(options: ServerQuestionsOptions) {
    this.#options = options;
    this.#requests = new PendingQuestions(options.host.nextQuestionId, (answer) => options.messages.original(answer));
  }

  /** Questions that outlive this worker. */
  get standing(): readonly StandingQuestion[] {
    return this.#requests.standing;
  }

  restore({ questions = [], worker }: Pick<SessionRecord, 'questions' | 'worker'>): void {
    // The connections with the questions ended, too.
    if (haveFormerWorkersEnded(this.#options.host.bus)) return;
    this.heldBefore = worker;
    this.#wasStanding = questions.length > 0;
    for (const [id, server, input] of questions) this.#requests.restore(id, this.#standingQuestion(server, input));
  }

  // --- questions of servers ----------------------------------------------------------------------------------------------------

  /** Asks a question of a server during a call. @param stream of that call. */
  ofCall(
    asker: Questioner,
    stream: { send(text: string): void },
    { input, method, params, movedFrom }: InputEvent,
  ): void {
    const question: PendingQuestion = { asker, input, stream };
    if (movedFrom === undefined || !this.#requests.move(movedFrom, question)) this.#ask(question, method, params);
  }

  /** Asks a question of a server outside calls. It is for this session, because the connection is the session's own. */
  outsideCalls(notice: NamedNotice<'question'>): void {
    const { server, input, method, params, place, tool, movedFrom } = notice;
    const question = this.#standingQuestion(server, input);
    this.#wasStanding = true;
    for (const watched of this.#watchedOf(server)) watched.asked?.(notice);
    if (movedFrom === undefined || !this.#requests.move(movedFrom, question))
      this.#ask(question, method, this.#options.messages.question(server, params, { place, tool }));
    this.#options.changed();
  }

  /** Refuses a question of something that the client may no longer see. */
  refuseOutsideCalls(notice: NamedNotice<'question'>): void {
    this.answerOutsideCalls(notice, {
      error: toErrorObject(fault('policy.denied', 'who began this may not use it any more')),
    });
  }

  /** Answers in the client's place. */
  answerOutsideCalls({ server, input }: NamedNotice<'question'>, answer: InputAnswer): void {
    this.#questioner(server).answerInput(input, answer);
  }

  withdrawOutsideCalls({ server, input, reason }: NamedNotice<'question-withdrawn'>): void {
    this.#requests.withdraw(this.#questioner(server), input, reason);
    for (const watched of this.#watched?.get(server) ?? []) watched.withdrawn?.(input);
    this.#options.changed();
  }

  withdraw(asker: Questioner, input: InputKey, reason: string): void {
    this.#requests.withdraw(asker, input, reason);
  }

  withdrawAll(asker: Questioner, reason: string): void {
    this.#requests.withdrawAll(asker, reason);
  }

  #ask(question: PendingQuestion, method: QuestionMethod, params: JsonObject): void {
    const refuse = (code: number, message: string): void =>
      question.asker.answerInput(question.input, { error: { code, message } });
    if (!isInputMethod(method)) {
      this.#requests.ask(question, method, params); // No revision defines the method, but the client may know it.
      return;
    }
    if (!(inputCapabilities[method] in this.#options.client.capabilities)) {
      refuse(-32_601, `the client declared no capability for ${method}`);
      return;
    }
    const known = this.#options.client.dialect.questionOf(method, params);
    if ('problem' in known) refuse(-32_602, known.problem);
    else this.#requests.ask(question, method, known.params);
  }

  #standingQuestion(server: ServerName, input: InputKey): PendingQuestion {
    return { asker: this.#questioner(server), input, stream: { send: this.#options.push }, standing: server };
  }

  #watchedOf(server: ServerName): readonly WatchedQuestions[] {
    const { host, client } = this.#options;
    const watched = this.#watched?.get(server) ?? host.watchers.questions(client, server);
    this.#watched ??= new Map();
    this.#watched.set(server, watched);
    return watched;
  }

  /** The session as the party that waits for an answer to a question outside calls. */
  #questioner(server: ServerName): Questioner {
    const known = this.#questioners?.get(server);
    if (known !== undefined) return known;
    const {
      key,
      asker,
      host: { bus },
    } = this.#options;
    const tell = (command: ControlCommand): void => bus.publish(subjects.backendControl(server), command);
    const told: Questioner = {
      id: key,
      answerInput: (input, answer) => {
        tell({ kind: 'answer', asker: key, input, answer });
        for (const watched of this.#watched?.get(server) ?? []) watched.answered?.(input, answer);
      },
      passInputProgress: (input, params) => tell({ kind: 'input-progress', asker: key, input, params }),
    };
    const questioner: Questioner = {
      ...told,
      answerInput: (input, answer) => asker(server, told).answerInput(input, answer),
    };
    this.#questioners ??= new Map();
    this.#questioners.set(server, questioner);
    return questioner;
  }

  // --- answers of the client --------------------------------------------------------------------------------------------

  /** Handles an answer of the client. @returns false when no such question is open here. */
  takeAnswer(response: JsonRpcResponse): boolean {
    const isTaken = this.#requests.answer(response);
    if (isTaken && this.#wasStanding) this.#options.changed();
    return isTaken;
  }

  /** Handles progress of the client. @returns false when it belongs to no question that is open here. */
  takeProgress(params: JsonObject | undefined): boolean {
    return this.#requests.progress(params);
  }

  /**
   * Passes a message about a question that is not open here to the worker that asked it.
   * @param id of the question it is about.
   */
  passOn(remark: Remark, id: unknown): Promise<LateReply['outcome'] | 'silence'> {
    return this.passTo(askerOf(id), remark);
  }

  async passTo(worker: WorkerId | undefined, remark: Remark): Promise<LateReply['outcome'] | 'silence'> {
    const { key, host } = this.#options;
    const outcome = worker === undefined ? 'closed' : await host.passOn(key, worker, this.heldBefore, remark);
    if (outcome !== 'taken')
      host.metrics.dropped(remark.kind === 'response' ? 'response_unsolicited' : 'notification_unknown');
    return outcome;
  }
}
