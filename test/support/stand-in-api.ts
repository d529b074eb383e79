/** An HTTP API that repeats each request in its answer, except where a test answers itself. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Heard } from '@omnibus/bus/testing';
import { StandInServer } from './stand-in-server.ts';

export interface HeardRequest {
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export type ApiScript = (heard: HeardRequest, response: ServerResponse) => boolean | Promise<boolean>;

export class StandInApi extends StandInServer {
  readonly heard = new Heard<HeardRequest>();
  readonly #script: ApiScript;

  private constructor(script: ApiScript) {
    super();
    this.#script = script;
  }

  /** @param script looks at each request first. @returns whether it has answered it. */
  static start(script: ApiScript = () => false): Promise<StandInApi> {
    return new StandInApi(script).listen();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const heard: HeardRequest = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers as HeardRequest['headers'],
      body: await text(request),
    };
    this.heard.add(heard);
    if (await this.#script(heard, response)) return;
    const { method, url, body } = heard;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ method, url, body }));
  }
}
