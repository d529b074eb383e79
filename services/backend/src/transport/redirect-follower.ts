/**
 * Follows redirects of a server within its origin, with method and body (`redirectOf`). It wraps what shows credentials, so each hop has a proof of its own
 * (RFC 9449, 4.2). A 3xx answer shows that the request was not executed, so it may be sent again (invariant C3 of `connection/failed-requests.ts`).
 *
 * It serves the requests to one address. When a POST was answered without a redirect, later ones can go straight through (`direct`).
 */
import type { Dispatcher } from 'undici';
import { maxRedirects, redirectOf } from '@omnibus/protocol';
import { addressOf, type HttpDispatcher } from './http-options.ts';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;
type Headers = Parameters<NonNullable<Handler['onResponseStart']>>[2];

/** Bytes of a redirect's page that are read, so that its connection can be used again. */
const maxPageBytes = 64 * 1_024;

/** Receives the answer to a request that may be redirected. */
export interface RedirectHandler extends Handler {
  /** The request is sent to another address instead of the requested one. */
  redirected?(to: URL): void;
}

export class RedirectFollower implements HttpDispatcher {
  readonly #inner: Pick<Dispatcher, 'dispatch'>;
  readonly #followed: (led: string) => void;
  direct: HttpDispatcher['direct'];
  /** The target of a permanent redirect (308). */
  #moved: { readonly from: string; readonly to: string } | undefined;

  /** @param followed called with each redirect, in words that may contain secrets of the address. */
  constructor(inner: Pick<Dispatcher, 'dispatch'>, followed: (led: string) => void) {
    this.#inner = inner;
    this.#followed = followed;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: RedirectHandler): boolean {
    if (this.#moved?.from !== options.path) return this.#send(options, handler, addressOf(options), 0);
    const moved = { ...options, path: this.#moved.to };
    handler.redirected?.(addressOf(moved));
    return this.#send(moved, handler, addressOf(options), 0);
  }

  /** @param count redirects so far. */
  #send(options: Dispatcher.DispatchOptions, handler: RedirectHandler, asked: URL, count: number): boolean {
    const address = addressOf(options).href;
    return this.#inner.dispatch(
      options,
      new Hop(handler, {
        next: (status, location) => {
          if (count === maxRedirects) return undefined;
          const next = redirectOf({ method: options.method, address, status, location });
          if (next === undefined && address === asked.href && options.method === 'POST') this.direct = this.#inner;
          return next !== undefined && 'to' in next ? next.to : undefined;
        },
        follow: (to, status) => {
          const path = `${to.pathname}${to.search}`;
          if (status === 308 && count === 0) this.#moved = { from: `${asked.pathname}${asked.search}`, to: path };
          handler.redirected?.(to);
          this.#followed(`${asked.href} leads to ${to.href}`);
          this.#send({ ...options, path }, handler, asked, count + 1);
        },
      }),
    );
  }
}

interface HopPort {
  /** @returns where to ask next; undefined for an answer that is passed on. */
  readonly next: (status: number, location: unknown) => URL | undefined;
  readonly follow: (to: URL, status: number) => void;
}

/** Receives one answer, and passes it on unless it is a redirect that is followed. */
class Hop implements Handler {
  readonly #handler: Handler;
  readonly #port: HopPort;
  #redirect: { readonly to: URL; readonly status: number } | undefined;
  #bytes = 0;
  #isOver = false;

  constructor(handler: Handler, port: HopPort) {
    this.#handler = handler;
    this.#port = port;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(controller: Controller, status: number, headers: Headers, message?: string): void {
    const to = status < 200 ? undefined : this.#port.next(status, headers['location']);
    if (to === undefined) this.#handler.onResponseStart?.(controller, status, headers, message);
    else this.#redirect = { to, status };
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#redirect === undefined) {
      this.#handler.onResponseData?.(controller, chunk);
      return;
    }
    this.#bytes += chunk.length;
    if (this.#bytes <= maxPageBytes) return;
    this.#follow();
    controller.abort(new Error('the rest does not matter'));
  }

  onResponseEnd(controller: Controller, trailers: Headers): void {
    if (this.#redirect === undefined) this.#handler.onResponseEnd?.(controller, trailers);
    else this.#follow();
  }

  /** An abort by the reader of the answer is not followed. */
  onResponseError(controller: Controller, error: Error): void {
    if (!this.#isOver) this.#handler.onResponseError?.(controller, error);
  }

  #follow(): void {
    const redirect = this.#redirect;
    if (redirect === undefined || this.#isOver) return;
    this.#isOver = true;
    this.#port.follow(redirect.to, redirect.status);
  }
}
