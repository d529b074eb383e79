/** An HTTP API that repeats each request in its answer, except where a test answers itself. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Heard } from '@omnibus/bus/testing';

export interface HeardRequest {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export type ApiScript = (heard: HeardRequest, response: ServerResponse) => boolean | Promise<boolean>;

export class StandInApi implements AsyncDisposable {
  readonly heard = new Heard<HeardRequest>();
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
  }

  /** @param script looks at each request first. @returns whether it has answered it. */
  static async start(script: ApiScript = () => false): Promise<StandInApi> {
    let made: StandInApi | undefined;
    const server = createServer((request, response) => void made?.serve(script, request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    made = new StandInApi(server);
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.#server[Symbol.asyncDispose]();
  }

  private async serve(script: ApiScript, request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const heard: HeardRequest = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers as HeardRequest['headers'],
      body: await text(request),
    };
    this.heard.add(heard);
    if (await script(heard, response)) return;
    const { method, url, body } = heard;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ method, url, body }));
  }
}
