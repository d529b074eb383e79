/** Correct servers of this suite over Streamable HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { StandInServer } from '../support/stand-in-server.ts';
import { honestly, type Era } from './server.ts';

export class HonestHttpServer extends StandInServer {
  readonly #era: Era;

  private constructor(era: Era) {
    super();
    this.#era = era;
  }

  static start(era: Era): Promise<HonestHttpServer> {
    return new HonestHttpServer(era).listen();
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') {
        response.writeHead(405).end();
        return;
      }
      const said = honestly(JSON.parse(Buffer.concat(chunks).toString()), this.#era);
      if (said.length === 0) response.writeHead(202).end();
      else if (said.length === 1)
        response
          .writeHead(200, {
            'content-type': 'application/json',
            ...(this.#era === '2025-11-25' ? { 'mcp-session-id': 'one' } : {}),
          })
          .end(JSON.stringify(said[0]));
      else
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(said.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }
}
