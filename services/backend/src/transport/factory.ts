/** Which transport a server's configuration asks for. */
import { resolve } from 'node:path';
import type { Dispatcher } from 'undici';
import type { ServerConfig } from '@omnibus/config';
import type { Limits } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { ChildOptions } from './child-process.ts';
import type { HttpOptions } from './http-options.ts';
import { HttpSseTransport } from './http-sse.ts';
import { ProbingHttpTransport, type HttpVerdict } from './probing-http.ts';
import { StdioTransport } from './stdio.ts';
import { StreamableHttpTransport } from './streamable-http.ts';
import type { Transport, TransportObserver } from './transport.ts';
import { WebSocketTransport } from './websocket.ts';

export interface TransportSource {
  readonly config: ServerConfig;
  readonly baseFolder: string;
  readonly limits: Limits;
  readonly dispatcher: Dispatcher;
  readonly log: Logger;
}

/** Makes the transports of one server, and remembers what they found out about it. */
export class TransportFactory {
  readonly #config: ServerConfig;
  readonly #child: ChildOptions | undefined;
  readonly #maxMessageBytes: number;
  readonly #dispatcher: Dispatcher;
  readonly #verdict: HttpVerdict;

  constructor({ config, baseFolder, limits, dispatcher, log }: TransportSource) {
    this.#config = config;
    this.#maxMessageBytes = limits.maxUpstreamMessageBytes;
    this.#dispatcher = dispatcher;
    this.#verdict = { isEventSource: config.type === 'sse' };
    this.#child = config.command === undefined ? undefined
      : { command: config.command, args: config.args, env: config.env, cwd: resolve(baseFolder, config.cwd ?? '.'), log };
  }

  /** @param isBase the server's first connection, which starts the program that others to the same `url` find running. */
  create(observer: TransportObserver, isBase: boolean): Transport {
    const { url, type, headers, connectTimeout: openTimeoutMs } = this.#config;
    const maxMessageBytes = this.#maxMessageBytes;
    if (url === undefined) return new StdioTransport({ ...(this.#child as ChildOptions), maxMessageBytes }, observer);
    if (/^wss?:/.test(url)) return new WebSocketTransport({ url, headers, maxMessageBytes, openTimeoutMs }, observer);
    const options: HttpOptions = { url, headers, dispatcher: this.#dispatcher, maxMessageBytes, openTimeoutMs };
    const child = isBase ? this.#child : undefined;
    const createStreamable = (hears: TransportObserver): Transport => new StreamableHttpTransport({ ...options, child }, hears);
    if (type === 'sse') return new HttpSseTransport(options, observer);
    if (type !== undefined || child !== undefined) return createStreamable(observer);
    return new ProbingHttpTransport(this.#verdict, createStreamable, (hears) => new HttpSseTransport(options, hears), observer);
  }
}
