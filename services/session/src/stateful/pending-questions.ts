/**
 * The questions of servers that one client has not answered yet, under ids of the gateway's own, since ids of several servers may be equal.
 *
 * Invariants
 *  R1  A question goes out on the stream of the call that caused it, or on a GET stream when none did, and on no other.
 *  R2  An answer reaches the server once; a second one, or one to an unknown id, is dropped.
 *  R3  No id is used twice, by any worker, nor in another session, so that an answer is used only for its own question. An answer to a
 *      question of a worker that held the session before is used by that worker.
 *  R4  When a call ends, its open questions are withdrawn with `notifications/cancelled`.
 */
import {
  fault,
  isObject,
  notificationText,
  toErrorObject,
  type ExchangeId,
  type InputKey,
  type JsonObject,
  type JsonRpcResponse,
  type QuestionId,
  type QuestionMethod,
  type ServerName,
} from '@omnibus/protocol';
import type { Questioner } from '../call/transform.ts';

export interface PendingQuestion {
  readonly asker: Questioner;
  readonly input: InputKey;
  readonly stream: { send(text: string): void };
  /** Set for a question that belongs to no call, which outlives the worker that asked it: its server. */
  readonly standing?: ServerName;
}

/** A question that belongs to no call, as the session's record contains it. */
export type StandingQuestion = readonly [id: QuestionId, server: ServerName, input: InputKey];

/** Open questions of one client; beyond that the server is answered with an error. */
const maxOpen = 256;
/** Questions without a call that are recorded, the latest ones. */
const maxStanding = 32;

export class PendingQuestions {
  /** Undefined before the first question: most clients get none. */
  #open: Map<QuestionId, PendingQuestion> | undefined;
  readonly #nextId: () => QuestionId;
  readonly #originalMention: (result: JsonObject) => JsonObject;

  /**
   * @param nextId gives ids that are unique for all sessions of the worker (R3).
   * @param originalMention replaces a public task id in an answer by the server's own.
   */
  constructor(nextId: () => QuestionId, originalMention: (result: JsonObject) => JsonObject) {
    this.#nextId = nextId;
    this.#originalMention = originalMention;
  }

  ask(question: PendingQuestion, method: QuestionMethod, params: JsonObject): void {
    this.#open ??= new Map();
    if (this.#open.size >= maxOpen) {
      question.asker.answerInput(question.input, {
        error: toErrorObject(fault('session.busy', `the client has ${maxOpen} questions to answer`)),
      });
      return;
    }
    const id = this.#nextId();
    this.#open.set(id, question);
    const meta = params['_meta'];
    const ownToken = isObject(meta) && 'progressToken' in meta ? { _meta: { ...meta, progressToken: id } } : {};
    question.stream.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, ...ownToken } })); // R1
  }

  /** Restores a question that another worker has asked and the client may still answer. */
  restore(id: QuestionId, question: PendingQuestion): void {
    this.#open ??= new Map();
    this.#open.set(id, question);
  }

  /** Questions that belong to no call. */
  get standing(): readonly StandingQuestion[] {
    if (this.#open === undefined) return [];
    return [...this.#open]
      .flatMap(([id, { standing, input }]) => (standing === undefined ? [] : [[id, standing, input] as const]))
      .slice(-maxStanding);
  }

  /**
   * Moves a question, which the client has already, to another call or to the session.
   * @returns false when it is not open.
   */
  move(from: ExchangeId, moved: PendingQuestion): boolean {
    for (const [id, question] of this.#open ?? []) {
      if (question.asker.id !== from || question.input !== moved.input) continue;
      this.#open?.set(id, moved);
      return true;
    }
    return false;
  }

  /** Passes on an answer of the client. @returns false when no such question is open. */
  answer({ id, result, error }: JsonRpcResponse): boolean {
    const question = this.#open?.get(id as QuestionId);
    if (question === undefined) return false;
    this.#open?.delete(id as QuestionId); // R2
    if (result !== undefined) question.asker.answerInput(question.input, { result: this.#originalMention(result) });
    else if (error !== undefined) question.asker.answerInput(question.input, { error });
    return true;
  }

  /** Passes on progress of the client on a question. @returns false when no such question is open. */
  progress(params: JsonObject | undefined): boolean {
    const token = params?.['progressToken'];
    const question = this.#open?.get(token as QuestionId);
    if (question === undefined || params === undefined) return false;
    question.asker.passInputProgress(question.input, params);
    return true;
  }

  withdraw(asker: Questioner, input: InputKey, reason: string): void {
    this.#takeBack((question) => question.asker === asker && question.input === input, reason);
  }

  withdrawAll(asker: Questioner, reason: string): void {
    if (this.#open !== undefined) this.#takeBack((question) => question.asker === asker, reason);
  }

  #takeBack(concerns: (question: PendingQuestion) => boolean, reason: string): void {
    for (const [requestId, question] of this.#open ?? []) {
      if (!concerns(question)) continue;
      this.#open?.delete(requestId);
      question.stream.send(notificationText('notifications/cancelled', { requestId, reason })); // R4
    }
  }
}
