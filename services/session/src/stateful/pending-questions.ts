/**
 * What servers ask of one client and the client has not answered, under ids of our own: a server's id means nothing to a
 * client that several servers ask.
 *
 * Invariants
 *  R1  A question goes out on the stream of the call that caused it, or on a GET stream when none did, and on no other.
 *  R2  An answer reaches the server once; a second one, or one to an id we never gave, is dropped.
 *  R3  No id is given twice, by whichever worker, and none is an id of another session: an answer is used for what was asked, or
 *      for nothing. One that was meant for a worker that held the session before is for that one to use.
 *  R4  When a call ends, its open questions are taken back with `notifications/cancelled`.
 */
import { fault, isObject, notificationText, toErrorObject, type ExchangeId, type InputKey, type JsonObject, type JsonRpcResponse, type QuestionId, type QuestionMethod, type ServerName } from '@omnibus/protocol';
import type { Questioner } from '../call/client-port.ts';

export interface PendingQuestion {
  readonly asker: Questioner;
  readonly input: InputKey;
  readonly stream: { send(text: string): void };
  /** Of a question that belongs to no call: it outlives the worker that asked it. */
  readonly standing?: ServerName;
}

/** A question of no call, as the session's record has it. */
export type StandingQuestion = readonly [id: QuestionId, server: ServerName, input: InputKey];

/** A user answers a few at a time; a server that asks without end is told so. */
const maxOpen = 256;
/** Of questions that outlive the worker, so many are recorded, the latest. */
const maxStanding = 32;

export class PendingQuestions {
  readonly #open = new Map<QuestionId, PendingQuestion>();
  readonly #nextId: () => QuestionId;
  readonly #originalMention: (result: JsonObject) => JsonObject;

  /**
   * @param nextId of the worker: ids go on where another session's, or this session's when it was here before, left off (R3).
   * @param originalMention gives what an answer mentions its original id.
   */
  constructor(nextId: () => QuestionId, originalMention: (result: JsonObject) => JsonObject) {
    this.#nextId = nextId;
    this.#originalMention = originalMention;
  }

  ask(question: PendingQuestion, method: QuestionMethod, params: JsonObject): void {
    if (this.#open.size >= maxOpen) {
      question.asker.answerInput(question.input, { error: toErrorObject(fault('session.busy', `the client has ${maxOpen} questions to answer`)) });
      return;
    }
    const id = this.#nextId();
    this.#open.set(id, question);
    const meta = params['_meta'];
    const ownToken = isObject(meta) && 'progressToken' in meta ? { _meta: { ...meta, progressToken: id } } : {};
    question.stream.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, ...ownToken } })); // R1
  }

  /** A question that the client has and may still answer was asked by another worker. */
  restore(id: QuestionId, question: PendingQuestion): void {
    this.#open.set(id, question);
  }

  /** Questions that belong to no call. */
  get standing(): readonly StandingQuestion[] {
    if (this.#open.size === 0) return [];
    return [...this.#open].flatMap(([id, { standing, input }]) => (standing === undefined ? [] : [[id, standing, input] as const])).slice(-maxStanding);
  }

  /**
   * A question is another call's from now on, or the session's; the client has it already.
   * @returns false when it is not open.
   */
  move(from: ExchangeId, moved: PendingQuestion): boolean {
    for (const [id, question] of this.#open) {
      if (question.asker.id !== from || question.input !== moved.input) continue;
      this.#open.set(id, moved);
      return true;
    }
    return false;
  }

  /** @returns false when nobody waits for such an answer. */
  answer({ id, result, error }: JsonRpcResponse): boolean {
    const question = this.#open.get(id as QuestionId);
    if (question === undefined) return false;
    this.#open.delete(id as QuestionId); // R2
    if (result !== undefined) question.asker.answerInput(question.input, { result: this.#originalMention(result) });
    else if (error !== undefined) question.asker.answerInput(question.input, { error });
    return true;
  }

  /** Progress of the client on something it was asked. */
  progress(params: JsonObject | undefined): boolean {
    const token = params?.['progressToken'];
    const question = this.#open.get(token as QuestionId);
    if (question === undefined || params === undefined) return false;
    question.asker.passInputProgress(question.input, params);
    return true;
  }

  withdraw(asker: Questioner, input: InputKey, reason: string): void {
    this.#takeBack((question) => question.asker === asker && question.input === input, reason);
  }

  withdrawAll(asker: Questioner, reason: string): void {
    this.#takeBack((question) => question.asker === asker, reason);
  }

  #takeBack(concerns: (question: PendingQuestion) => boolean, reason: string): void {
    for (const [requestId, question] of this.#open) {
      if (!concerns(question)) continue;
      this.#open.delete(requestId);
      question.stream.send(notificationText('notifications/cancelled', { requestId, reason })); // R4
    }
  }
}
