/** Which transport a server's configuration asks for. */
import { resolve } from 'node:path';
import type { Dispatcher } from 'undici';
import type { ServerConfig } from '@omnibus/config';
import type { Limits } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { ChildOptions } from './child-process.ts';
import { StdioTransport } from './stdio.ts';
import { StreamableHttpTransport } from './streamable-http.ts';
import type { Transport, TransportObserver } from './transport.ts';

export interface TransportSource {
  readonly config: ServerConfig;
  readonly baseFolder: string;
  readonly limits: Limits;
  readonly dispatcher: Dispatcher;
  readonly log: Logger;
}

/** @param isBase the server's first connection, which starts the program that others to the same `url` find running. */
export function transportFactory({ config, baseFolder, limits, dispatcher, log }: TransportSource, isBase: boolean): (observer: TransportObserver) => Transport {
  const maxMessageBytes = limits.maxUpstreamMessageBytes;
  const child: ChildOptions | undefined = config.command === undefined ? undefined
    : { command: config.command, args: config.args, env: config.env, cwd: resolve(baseFolder, config.cwd ?? '.'), log };
  const { url } = config;
  if (url !== undefined) {
    return (observer) => new StreamableHttpTransport({ url, headers: config.headers, dispatcher, maxMessageBytes, child: isBase ? child : undefined, openTimeoutMs: config.connectTimeout }, observer);
  }
  return (observer) => new StdioTransport({ ...(child as ChildOptions), maxMessageBytes }, observer);
}
