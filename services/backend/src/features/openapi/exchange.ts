/** Sends one request over HTTP and reads its answer, within bounds of bytes, also of what a packed answer unpacks to. */
import type { Dispatcher } from 'undici';
import { Pieces } from '@omnibus/collections';
import type { ApiAnswer } from '@omnibus/openapi';
import { Reading, smallBytes, type ReadingShare } from '../../transport/reading-budget.ts';
import { RedirectFollower } from '../../transport/redirect-follower.ts';
import { canUnpack, isUnpacked, Unpacker } from '../../transport/unpacker.ts';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;
type Headers = ApiAnswer['headers'];

export interface HttpExchange {
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | string | undefined;
  readonly maxBytes: number;
  /** Left out for an answer that does not count. */
  readonly reading?: ReadingShare | undefined;
}

/** Why an answer that has come cannot be read whole. */
export class ExchangeProblem extends Error {}

/** An answer that is being waited for. */
export interface OpenExchange {
  /** Rejects with an `ExchangeProblem`, or with the error of the dispatcher. */
  readonly answer: Promise<ApiAnswer>;
  abort(): void;
}

export function exchange({
  dispatcher,
  origin,
  path,
  method,
  headers,
  body,
  maxBytes,
  reading,
}: HttpExchange): OpenExchange {
  const reader = new AnswerReader(maxBytes, reading);
  new RedirectFollower(dispatcher, () => undefined).dispatch(
    { origin, path, method: method as Dispatcher.HttpMethod, headers: { ...headers }, body: body ?? null },
    reader,
  );
  return { answer: reader.answer, abort: () => reader.abort() };
}

class AnswerReader implements Handler {
  readonly answer: Promise<ApiAnswer>;
  readonly #end = Promise.withResolvers<ApiAnswer>();
  readonly #maxBytes: number;
  readonly #share: ReadingShare | undefined;
  #controller: Controller | undefined;
  #status = 0;
  #headers: Headers = {};
  #body = new Pieces();
  #unpacker: Unpacker | undefined;
  #reading: Reading | undefined;
  #isOver = false;

  constructor(maxBytes: number, share: ReadingShare | undefined) {
    this.#maxBytes = maxBytes;
    this.#share = share;
    this.answer = this.#end.promise;
  }

  abort(problem = new ExchangeProblem('it was cancelled')): void {
    const controller = this.#controller;
    this.#fail(problem);
    controller?.abort(problem);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('abandoned'));
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
    if (this.#isOver || status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const coding = String(headers['content-encoding'] ?? 'identity')
      .trim()
      .toLowerCase();
    if (coding === '' || isUnpacked(coding)) return;
    if (!canUnpack(coding)) {
      this.abort(new ExchangeProblem('its answer is packed in a way that the gateway did not ask for'));
      return;
    }
    this.#unpacker = new Unpacker(coding, {
      data: (chunk) => this.#take(chunk, controller),
      end: () => this.#done(),
      refused: (problem) => this.abort(new ExchangeProblem(problem)),
      pause: () => controller.pause(),
      resume: () => controller.resume(),
    });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#unpacker === undefined) this.#take(chunk, controller);
    else this.#unpacker.write(chunk);
  }

  onResponseEnd(): void {
    if (this.#unpacker === undefined) this.#done();
    else this.#unpacker.end();
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#fail(error);
  }

  #take(chunk: Buffer, controller: Controller): void {
    if (this.#isOver) return;
    this.#body.add(chunk);
    if (this.#body.bytes > this.#maxBytes) {
      this.abort(new ExchangeProblem(`its answer is larger than ${this.#maxBytes} bytes`));
      return;
    }
    if (this.#share === undefined || this.#body.bytes <= smallBytes) return;
    const added = this.#reading === undefined ? this.#body.bytes : chunk.length;
    // An answer that may be read on continues in a later turn, since it may end at once and let the next one continue.
    this.#reading ??= new Reading(this.#share, () => setImmediate(() => (this.#unpacker ?? controller).resume()));
    if (!this.#reading.add(added)) (this.#unpacker ?? controller).pause();
  }

  #done(): void {
    if (this.#isOver) return;
    const answer = { status: this.#status, headers: this.#headers, body: this.#body.joined() };
    this.#release();
    this.#end.resolve(answer);
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#release();
    this.#end.reject(error);
  }

  /** An idle connection of the pool remembers its last handler. */
  #release(): void {
    this.#isOver = true;
    this.#unpacker?.stop();
    this.#reading?.end();
    [this.#unpacker, this.#reading, this.#controller, this.#body] = [undefined, undefined, undefined, new Pieces()];
  }
}
