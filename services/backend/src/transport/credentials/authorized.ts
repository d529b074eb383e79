/**
 * Requests over HTTP that show on whose behalf they are made. One that a server refuses for that is made again once, with fresh credentials:
 * a 401 in answer to the request itself says that nothing was done with it (RFC 9110, 15.5.2).
 */
import { CredentialProblem, readChallenge, type HeaderSource, type SentHeaders } from '@omnibus/credentials';
import type { Dispatcher } from 'undici';
import { noCredentials } from '../problems.ts';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Handler['onResponseStart']>>[2];

/** Of a refusal's body, for the operator's log. */
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
    void this.#wait(handler, () => this.#source.ask(), (headers) => this.#send(options, handler, headers));
    return true;
  }

  #send(options: Dispatcher.DispatchOptions, handler: Handler, headers: SentHeaders): boolean {
    return this.#inner.dispatch(withHeaders(options, headers), new Watched(handler, (refusal) => {
      const challenge = readChallenge(refusal.header('www-authenticate'));
      void this.#wait(handler, async () => ((await this.#source.refused(headers, challenge)) ? this.#source.ask() : undefined), (fresh) => {
        if (fresh === undefined) refusal.pass();
        else this.#inner.dispatch(withHeaders(options, fresh), new Watched(handler, (again) => {
          void this.#wait(handler, () => this.#source.gaveUp(fresh, readChallenge(again.header('www-authenticate'))), () => again.pass());
        }));
      });
    }));
  }

  /** @param send is not run for whom nobody waits any more. */
  async #wait<Given>(handler: Handler, ask: () => Promise<Given>, send: (given: Given) => void): Promise<void> {
    const waiting = new Waiting();
    // Whoever gives up meanwhile is heard.
    handler.onRequestStart?.(waiting, {});
    try {
      const given = await ask();
      if (!waiting.aborted) send(given);
    } catch (error) {
      const problem = error instanceof CredentialProblem ? error.message : 'the credentials for the server could not be had';
      if (!waiting.aborted) handler.onResponseError?.(waiting, Object.assign(new Error(problem, { cause: error }), { code: noCredentials }));
    }
  }
}

function withHeaders(options: Dispatcher.DispatchOptions, headers: SentHeaders): Dispatcher.DispatchOptions {
  return { ...options, headers: { ...(options.headers as SentHeaders), ...headers } };
}

/** It was not done for what it was shown, or for what that permits (RFC 6750, 3.1). */
function isRefusal(status: number, headers: Headers): boolean {
  return status === 401 || (status === 403 && readChallenge(headers['www-authenticate']).error === 'insufficient_scope');
}

/** What a request is held by while it has not been sent. */
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
    // Nothing comes yet.
  }

  resume(): void {
    // Nothing comes yet.
  }
}

interface Refusal {
  header(name: string): string | string[] | undefined;
  /** Lets whoever made the request hear it after all. */
  pass(): void;
}

/** Hears a response, and keeps a refusal back until it is whole. */
class Watched implements Handler {
  readonly #handler: Handler;
  readonly #refused: (refusal: Refusal) => void;
  #refusal: { readonly status: number; readonly headers: Headers; readonly message: string | undefined; readonly chunks: Buffer[]; bytes: number } | undefined;
  #isOver = false;

  constructor(handler: Handler, refused: (refusal: Refusal) => void) {
    this.#handler = handler;
    this.#refused = refused;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(controller: Controller, status: number, headers: Headers, message?: string): void {
    if (isRefusal(status, headers)) this.#refusal = { status, headers, message, chunks: [], bytes: 0 };
    else this.#handler.onResponseStart?.(controller, status, headers, message);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const refusal = this.#refusal;
    if (refusal === undefined) {
      this.#handler.onResponseData?.(controller, chunk);
      return;
    }
    refusal.bytes += chunk.length;
    if (refusal.bytes <= maxKeptBytes) refusal.chunks.push(chunk);
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
    const { status, headers, message, chunks } = refusal;
    this.#isOver = true;
    this.#refused({
      header: (name) => headers[name],
      pass: () => {
        this.#handler.onResponseStart?.(controller, status, headers, message);
        for (const chunk of chunks) this.#handler.onResponseData?.(controller, chunk);
        this.#handler.onResponseEnd?.(controller, {});
      },
    });
  }
}
