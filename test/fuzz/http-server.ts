/** Correct servers of this suite over Streamable HTTP. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { honestly, type Era } from './server.ts';

export class HonestHttpServer implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(era: Era): Promise<HonestHttpServer> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method !== 'POST') {
          response.writeHead(405).end();
          return;
        }
        const said = honestly(JSON.parse(Buffer.concat(chunks).toString()), era);
        if (said.length === 0) response.writeHead(202).end();
        else if (said.length === 1)
          response
            .writeHead(200, {
              'content-type': 'application/json',
              ...(era === '2025-11-25' ? { 'mcp-session-id': 'one' } : {}),
            })
            .end(JSON.stringify(said[0]));
        else
          response
            .writeHead(200, { 'content-type': 'text/event-stream' })
            .end(said.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HonestHttpServer(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.#server[Symbol.asyncDispose]();
  }
}
