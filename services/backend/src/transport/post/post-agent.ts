/**
 * An agent of undici that sends plain POSTs itself: those of a text over `http:`, which are nearly all calls. For such a request undici checks,
 * copies and parses more than it needs (decision 90). Everything else goes through undici: `https:` with HTTP/2, streams, and unusual headers.
 */
import type * as undici from 'undici';
import { Agent, errors } from '../undici-parts.ts';
import { Post } from './post-connection.ts';
import { PostOrigin } from './post-origin.ts';

export type PostAgentOptions = Omit<undici.Agent.Options, 'connect'> & {
  readonly connect: undici.buildConnector.connector;
};

/** Headers that decide about the message itself or its connection: undici knows their rules. */
const special = new Set([
  'host',
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const plainValue = /^[\t\x20-\x7e]*$/;
const plainPath = /^\/[\x21-\x7e]*$/;

export class PostAgent extends Agent {
  readonly #connect: undici.buildConnector.connector;
  readonly #origins = new Map<string, PostOrigin>();
  /** The header lines of objects that were sent before; null for headers that undici sends. */
  readonly #lines = new WeakMap<object, string | null>();

  constructor(options: PostAgentOptions) {
    super(options);
    this.#connect = options.connect;
  }

  override dispatch(options: undici.Agent.DispatchOptions, handler: undici.Dispatcher.DispatchHandler): boolean {
    // After its end, undici refuses the request.
    return (!this.destroyed && !this.closed && this.#send(options, handler)) || super.dispatch(options, handler);
  }

  /** @returns false for a request that undici sends. */
  #send(
    { origin, method, path, headers, body }: undici.Agent.DispatchOptions,
    handler: undici.Dispatcher.DispatchHandler,
  ): boolean {
    if (method !== 'POST' || typeof body !== 'string' || typeof headers !== 'object' || headers === null) return false;
    if (typeof origin !== 'string' || !origin.startsWith('http:') || !plainPath.test(path)) return false;
    const known = this.#lines.get(headers);
    const lines = known === undefined ? linesOf(headers) : known;
    if (known === undefined) this.#lines.set(headers, lines);
    if (lines === null) return false;
    const to = this.#origins.get(origin) ?? this.#newOrigin(origin);
    const text = `POST ${path} HTTP/1.1\r\nhost: ${to.host}\r\nconnection: keep-alive\r\n${lines}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    to.send(new Post(handler, text));
    return true;
  }

  #newOrigin(origin: string): PostOrigin {
    const made = new PostOrigin(new URL(origin), this.#connect, () => this.#origins.delete(origin));
    this.#origins.set(origin, made);
    return made;
  }

  /** Closes all connections, and fails the requests on them. */
  async end(): Promise<void> {
    // First, so that a POST that a handler sends when its own fails is refused.
    const destroyed = this.destroy();
    for (const origin of this.#origins.values()) origin.destroy(new errors.ClientDestroyedError());
    await destroyed;
  }
}

/** @returns null if undici has to look at the headers. */
function linesOf(headers: object): string | null {
  if (Symbol.iterator in headers) return null;
  let lines = '';
  for (const [name, value] of Object.entries(headers) as [string, unknown][]) {
    const isPlain = typeof value === 'string' && plainValue.test(value) && token.test(name);
    if (!isPlain || special.has(name.toLowerCase())) return null;
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
