/**
 * What servers ask of one client and the client has not answered. These requests have an id space of their own: a server's
 * id, a client's id and ours may all be 1 at once.
 *
 * Invariants
 *  R1  A question goes out on the stream of the call that caused it, or on a GET stream when none did, and on no other.
 *  R2  An answer reaches the server once; a second one, or one to an id we never gave, is dropped.
 *  R3  When a call ends, its open questions are taken back with `notifications/cancelled`.
 */
import { isObject, notificationText, type Asker, type ExchangeId, type InputAnswer, type InputKey, type InputMethod, type JsonObject, type JsonRpcResponse } from '@omnibus/protocol';

/** The call that waits for answers, or the session itself. */
export interface Asking {
  readonly id: Asker;
  answerInput(input: InputKey, answer: InputAnswer): void;
  passInputProgress(input: InputKey, params: JsonObject): void;
}

export interface OpenQuestion {
  readonly asker: Asking;
  readonly input: InputKey;
  readonly stream: { send(text: string): void };
}

export class ClientRequests {
  readonly #open = new Map<number, OpenQuestion>();
  readonly #originalMention: (result: JsonObject) => JsonObject;
  #nextId = 0;

  /** @param originalMention gives what an answer mentions its original id. */
  constructor(originalMention: (result: JsonObject) => JsonObject) {
    this.#originalMention = originalMention;
  }

  ask(question: OpenQuestion, method: InputMethod, params: JsonObject): void {
    this.#nextId += 1;
    const id = this.#nextId;
    this.#open.set(id, question);
    const meta = params['_meta'];
    const ownToken = isObject(meta) && 'progressToken' in meta ? { _meta: { ...meta, progressToken: id } } : {};
    question.stream.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, ...ownToken } })); // R1
  }

  /**
   * A question is another call's from now on; the client has it already.
   * @returns false when it is not open.
   */
  move(from: ExchangeId, input: InputKey, asker: Asking): boolean {
    for (const [id, question] of this.#open) {
      if (question.asker.id !== from || question.input !== input) continue;
      this.#open.set(id, { ...question, asker });
      return true;
    }
    return false;
  }

  /** @returns false when nobody waits for such an answer. */
  answer({ id, result, error }: JsonRpcResponse): boolean {
    const question = typeof id === 'number' ? this.#open.get(id) : undefined;
    if (question === undefined) return false;
    this.#open.delete(id as number); // R2
    if (result !== undefined) question.asker.answerInput(question.input, { result: this.#originalMention(result) });
    else if (error !== undefined) question.asker.answerInput(question.input, { error });
    return true;
  }

  /** Progress of the client on something it was asked. */
  progress(params: JsonObject | undefined): boolean {
    const token = params?.['progressToken'];
    const question = typeof token === 'number' ? this.#open.get(token) : undefined;
    if (question === undefined || params === undefined) return false;
    question.asker.passInputProgress(question.input, params);
    return true;
  }

  withdraw(asker: Asking, input: InputKey, reason: string): void {
    this.#takeBack((question) => question.asker === asker && question.input === input, reason);
  }

  withdrawAll(asker: Asking, reason: string): void {
    this.#takeBack((question) => question.asker === asker, reason);
  }

  #takeBack(concerns: (question: OpenQuestion) => boolean, reason: string): void {
    for (const [requestId, question] of this.#open) {
      if (!concerns(question)) continue;
      this.#open.delete(requestId);
      question.stream.send(notificationText('notifications/cancelled', { requestId, reason })); // R3
    }
  }
}
