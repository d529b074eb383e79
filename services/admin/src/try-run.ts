/** One attempt: a client within the gateway makes the chosen call and reports each step as an event, so that a page can show it and answer questions of servers. */
import { PassThrough, Writable } from 'node:stream';
import type { Guest } from '@omnibus/edge';
import { isModernRevision, isObject, metaKeys, version, type JsonObject, type Revision } from '@omnibus/protocol';
import { LineClient, CommandProblem } from '@omnibus/client';

/** The call to make, and what its client declares that it can answer. */
export interface Attempt {
  readonly method: string;
  readonly params: JsonObject;
  readonly revision: Revision;
  readonly capabilities: JsonObject;
}

export interface TryEvent {
  readonly number: number;
  readonly kind: 'progress' | 'log' | 'question' | 'question-ended' | 'result' | 'failed';
  readonly data: JsonObject;
}

interface Question {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
}

/** Bound on the kept events of one attempt; further log messages and questions are not reported. */
const maxEvents = 500;
/** Bound on the characters of all events but the result. */
const maxCharacters = 1_000_000;
/** Bound on the characters of a result that is sent to the page. */
const maxResultCharacters = 16_000_000;
/** How often a server may ask for more input before it answers a client without a session. */
const maxRounds = 20;

export class TryRun {
  readonly #attempt: Attempt;
  readonly #ending = new AbortController();
  #events: TryEvent[] = [];
  readonly #listeners = new Set<(event: TryEvent) => void>();
  readonly #questions = new Map<string, Question>();
  readonly #startedAt = performance.now();
  #characters = 0;
  #lastNumber = 0;
  #lastQuestion = 0;
  #isOver = false;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get followers(): number {
    return this.#listeners.size;
  }

  /** Runs the attempt. Resolves when it is over, also if it failed. @param enter connects the client to the gateway. */
  async run(enter: (write: (text: string) => void, ended: () => void) => Promise<Guest>): Promise<void> {
    const heard = new PassThrough();
    let guest: Guest | undefined;
    const said = new Writable({
      decodeStrings: false,
      write: (line: string, _encoding, done) => {
        guest?.receive(line.trimEnd());
        done();
      },
    });
    const client = new LineClient({
      input: heard,
      output: said,
      asked: this.#ask,
      heard: (method, params) => this.#hear(method, params),
    });
    try {
      guest = await enter(
        (text) => heard.write(`${text}\n`),
        () => heard.end(),
      );
      // A cancelled call is over, whatever it was waiting for.
      const cancelled = new Promise<never>((_resolve, reject) => {
        const { signal } = this.#ending;
        if (signal.aborted) reject(signal.reason as Error);
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      const raw = JSON.stringify(
        await Promise.race([
          cancelled,
          isModernRevision(this.#attempt.revision) ? this.#callInRounds(client) : this.#callInSession(client),
        ]),
      );
      if (raw.length > maxResultCharacters)
        throw new CommandProblem(
          'other',
          `the result has ${raw.length} characters, and a page is given ${maxResultCharacters} at most`,
          { advice: 'Call it with "omnibus call".' },
        );
      this.#tell('result', { raw, ms: this.#ms });
    } catch (error) {
      const { message, reason, advice, retry } = error as CommandProblem;
      this.#tell('failed', {
        problem: message,
        ...(reason === undefined ? {} : { reason }),
        ...(advice === undefined ? {} : { advice }),
        ...(retry === undefined ? {} : { retry }),
        ms: this.#ms,
      });
    }
    this.#isOver = true;
    for (const { reject } of this.#questions.values()) reject(new Error('the call is over'));
    await guest?.end();
    heard.end();
  }

  /** Reports past and new events. @param after the number of the last event that the follower has. @returns a function that ends it. */
  follow(after: number, hear: (event: TryEvent) => void): () => void {
    for (const event of this.#events) if (event.number > after) hear(event);
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  /** Answers a question of the server. @returns false when no such question is open. */
  answer(key: string, result: JsonObject | undefined): boolean {
    const question = this.#questions.get(key);
    if (question === undefined) return false;
    if (result === undefined) question.reject(new Error('the user refused this'));
    else question.resolve(result);
    return true;
  }

  /** Cancels the call at the server. */
  cancel(why: string): void {
    this.#ending.abort(new CommandProblem('other', why));
  }

  async #callInSession(client: LineClient): Promise<JsonObject> {
    const { method, params, revision, capabilities } = this.#attempt;
    await client.request('initialize', { protocolVersion: revision, capabilities, clientInfo });
    client.notify('notifications/initialized');
    return client.request(method, params, { signal: this.#ending.signal, onProgress: this.#progress });
  }

  /** Without a session, a server's question is a result, and the answer to it a new request (2026-07-28 basic/patterns/mrtr). */
  async #callInRounds(client: LineClient): Promise<JsonObject> {
    const { method, params, revision, capabilities } = this.#attempt;
    const _meta = {
      [metaKeys.protocolVersion]: revision,
      [metaKeys.clientCapabilities]: capabilities,
      [metaKeys.clientInfo]: clientInfo,
      [metaKeys.logLevel]: 'debug',
    };
    let more: JsonObject = {};
    for (let round = 0; round < maxRounds; round += 1) {
      const result = await client.request(
        method,
        { ...params, ...more, _meta },
        { signal: this.#ending.signal, onProgress: this.#progress },
      );
      if (result['resultType'] !== 'input_required') return result;
      const wanted = Object.entries(isObject(result['inputRequests']) ? result['inputRequests'] : {});
      const inputResponses = Object.fromEntries(
        await Promise.all(
          wanted.map(
            async ([key, request]) =>
              [
                key,
                await this.#ask(
                  String(isObject(request) ? request['method'] : ''),
                  isObject(request) && isObject(request['params']) ? request['params'] : {},
                ),
              ] as const,
          ),
        ),
      );
      more = {
        inputResponses,
        ...(result['requestState'] === undefined ? {} : { requestState: result['requestState'] }),
      };
    }
    throw new CommandProblem('other', `the server wanted more ${maxRounds} times, and has not answered yet`);
  }

  readonly #progress = (params: JsonObject): void => {
    const { progressToken: _ours, _meta, ...said } = params;
    // Only the latest progress matters.
    this.#events = this.#events.filter(({ kind }) => kind !== 'progress');
    this.#tell('progress', said);
  };

  #hear(method: string, params: JsonObject): void {
    if (method === 'notifications/message') this.#tell('log', params);
  }

  readonly #ask = async (method: string, params: JsonObject): Promise<JsonObject> => {
    if (method === 'roots/list') return { roots: [] };
    this.#lastQuestion += 1;
    const key = String(this.#lastQuestion);
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    if (!this.#tell('question', { key, method, params })) throw new Error('this call has asked too much');
    this.#questions.set(key, { resolve, reject });
    const cancelled = (): void => reject(new Error('the user cancelled the call'));
    this.#ending.signal.addEventListener('abort', cancelled, { once: true });
    try {
      return await promise;
    } finally {
      this.#ending.signal.removeEventListener('abort', cancelled);
      this.#questions.delete(key);
      this.#tell('question-ended', { key });
    }
  };

  get #ms(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  /** Adds an event. @returns false when there are too many already. */
  #tell(kind: TryEvent['kind'], data: JsonObject): boolean {
    const isEnd = kind === 'result' || kind === 'failed';
    const length = isEnd ? 0 : JSON.stringify(data).length;
    if (this.#isOver || (!isEnd && (this.#events.length >= maxEvents || this.#characters + length > maxCharacters)))
      return false;
    this.#characters += kind === 'progress' ? 0 : length;
    this.#lastNumber += 1;
    const event = { number: this.#lastNumber, kind, data };
    this.#events.push(event);
    for (const hear of this.#listeners) hear(event);
    return true;
  }
}

const clientInfo = { name: 'omnibus-console', version } as const;
