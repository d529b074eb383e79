/**
 * Sends HTTP requests with credentials. A request that the server refuses for its credentials is sent again with others, and where these had only been
 * found, once more with those that are obtained then: a 401 in answer to the request itself says that it was not executed (RFC 9110, 15.5.2).
 */
import { Pieces } from '@omnibus/collections';
import {
  CredentialProblem,
  readChallenge,
  type Challenge,
  type HeaderSource,
  type SentHeaders,
} from '@omnibus/credentials';
import type { Dispatcher } from 'undici';
import { addressOf } from './http-options.ts';
import { noCredentials } from './trouble.ts';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Handler['onResponseStart']>>[2];

/** Bound on bytes of a refusal's body for the operator's log. */
const maxKeptBytes = 64 * 1_024;

export class AuthorizedDispatcher implements Pick<Dispatcher, 'dispatch'> {
  readonly #inner: Pick<Dispatcher, 'dispatch'>;
  readonly #source: HeaderSource;

  constructor(inner: Pick<Dispatcher, 'dispatch'>, source: HeaderSource) {
    this.#inner = inner;
    this.#source = source;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const { current } = this.#source;
    if (current !== undefined) return this.#send(options, handler, current);
    void this.#wait(
      handler,
      () => this.#source.ask(),
      (headers) => this.#send(options, handler, headers),
    );
    return true;
  }

  #send(options: Dispatcher.DispatchOptions, handler: Handler, headers: SentHeaders): boolean {
    return this.#attempt(options, handler, headers, (refusal, challenge) => {
      void this.#wait(
        handler,
        async () => ((await this.#source.refused(headers, challenge)) ? this.#source.ask() : undefined),
        (fresh) => {
          if (fresh === undefined) refusal.pass();
          else this.#repeat(options, handler, fresh, true);
        },
      );
    });
  }

  /** @param mayRepeat whether it may be sent a third time, with a new credential. */
  #repeat(options: Dispatcher.DispatchOptions, handler: Handler, headers: SentHeaders, mayRepeat: boolean): void {
    this.#attempt(options, handler, headers, (refusal, challenge) => {
      void this.#wait(
        handler,
        async () => ((await this.#source.gaveUp(headers, challenge)) && mayRepeat ? this.#source.ask() : undefined),
        (obtained) => {
          if (obtained === undefined) refusal.pass();
          else this.#repeat(options, handler, obtained, false);
        },
      );
    });
  }

  /**
   * @param hasNonce whether this is the second attempt, with the nonce that the server demanded in the proof; it has not executed the first one (RFC
   * 9449, 9).
   */
  #attempt(
    options: Dispatcher.DispatchOptions,
    handler: Handler,
    headers: SentHeaders,
    refused: (refusal: Refusal, challenge: Challenge) => void,
    hasNonce = false,
  ): boolean {
    const address = addressOf(options).href;
    const proof = this.#source.prove?.(
      headers,
      options.method,
      address,
      typeof options.body === 'string' ? options.body : undefined,
    );
    return this.#inner.dispatch(
      withHeaders(options, proof === undefined ? headers : { ...headers, ...proof }),
      new Watched(
        handler,
        (refusal) => {
          const challenge = readChallenge(refusal.header('www-authenticate'));
          if (proof !== undefined && !hasNonce && challenge.error === 'use_dpop_nonce')
            this.#attempt(options, handler, headers, refused, true);
          else refused(refusal, challenge);
        },
        proof === undefined ? undefined : (nonce) => this.#source.noteNonce?.(address, nonce),
        (status, header) => this.#source.isRefusal?.(status, header) === true,
      ),
    );
  }

  /** @param send does not run if no caller waits for the request any more. */
  async #wait<Given>(handler: Handler, ask: () => Promise<Given>, send: (given: Given) => void): Promise<void> {
    const waiting = new Waiting();
    // The request may be aborted meanwhile.
    handler.onRequestStart?.(waiting, {});
    try {
      const given = await ask();
      if (!waiting.aborted) send(given);
    } catch (error) {
      const problem =
        error instanceof CredentialProblem ? error.message : 'the credentials for the server could not be had';
      if (!waiting.aborted)
        handler.onResponseError?.(
          waiting,
          Object.assign(new Error(problem, { cause: error }), { code: noCredentials }),
        );
    }
  }
}

function withHeaders(options: Dispatcher.DispatchOptions, headers: SentHeaders): Dispatcher.DispatchOptions {
  return { ...options, headers: { ...(options.headers as SentHeaders), ...headers } };
}

/** Whether the request was refused for its credentials, or for too few rights (RFC 6750, 3.1). */
function isRefusal(status: number, headers: Headers): boolean {
  return (
    status === 401 || (status === 403 && readChallenge(headers['www-authenticate']).error === 'insufficient_scope')
  );
}

/** The controller of a request that has not been sent yet. */
class Waiting implements Controller {
  aborted = false;
  readonly paused = false;
  reason: Error | null = null;
  readonly rawHeaders = null;
  readonly rawTrailers = null;

  abort(reason: Error): void {
    this.aborted = true;
    this.reason = reason;
  }

  pause(): void {
    // There is nothing to pause yet.
  }

  resume(): void {
    // There is nothing to resume yet.
  }
}

interface Refusal {
  header(name: string): string | string[] | undefined;
  /** Passes a withheld response on to the caller after all. */
  pass(): void;
}

/** Receives a response, and withholds a refusal until it is complete. */
class Watched implements Handler {
  readonly #handler: Handler;
  readonly #refused: (refusal: Refusal) => void;
  readonly #noted: ((nonce: string) => void) | undefined;
  readonly #isOwnRefusal: (status: number, header: (name: string) => unknown) => boolean;
  #refusal:
    | {
        readonly status: number;
        readonly headers: Headers;
        readonly message: string | undefined;
        readonly body: Pieces;
      }
    | undefined;
  #isOver = false;

  /**
   * @param noted called with the nonce for the next proof of possession.
   * @param isOwnRefusal whether a server refuses credentials of this kind in a way of its own.
   */
  constructor(
    handler: Handler,
    refused: (refusal: Refusal) => void,
    noted: ((nonce: string) => void) | undefined,
    isOwnRefusal: (status: number, header: (name: string) => unknown) => boolean,
  ) {
    this.#isOwnRefusal = isOwnRefusal;
    this.#handler = handler;
    this.#noted = noted;
    this.#refused = refused;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(controller: Controller, status: number, headers: Headers, message?: string): void {
    const nonce = this.#noted === undefined ? undefined : headers['dpop-nonce'];
    if (typeof nonce === 'string') this.#noted?.(nonce);
    if (isRefusal(status, headers) || this.#isOwnRefusal(status, (name) => headers[name]))
      this.#refusal = { status, headers, message, body: new Pieces() };
    else this.#handler.onResponseStart?.(controller, status, headers, message);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const refusal = this.#refusal;
    if (refusal === undefined) {
      this.#handler.onResponseData?.(controller, chunk);
      return;
    }
    if (refusal.body.bytes + chunk.length <= maxKeptBytes) refusal.body.add(chunk);
    else {
      this.#end(controller);
      controller.abort(new Error('the rest does not matter'));
    }
  }

  onResponseEnd(controller: Controller, trailers: Headers): void {
    if (this.#refusal === undefined) this.#handler.onResponseEnd?.(controller, trailers);
    else this.#end(controller);
  }

  onResponseError(controller: Controller, error: Error): void {
    if (!this.#isOver) this.#handler.onResponseError?.(controller, error);
  }

  #end(controller: Controller): void {
    const refusal = this.#refusal;
    if (refusal === undefined || this.#isOver) return;
    const { status, headers, message, body } = refusal;
    this.#isOver = true;
    this.#refused({
      header: (name) => headers[name],
      pass: () => {
        this.#handler.onResponseStart?.(controller, status, headers, message);
        for (const chunk of body.all) this.#handler.onResponseData?.(controller, chunk);
        this.#handler.onResponseEnd?.(controller, {});
      },
    });
  }
}
