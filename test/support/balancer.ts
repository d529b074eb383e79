/** One address in front of several edges: each request goes to the next edge in turn, also on one connection. */
import { once } from 'node:events';
import { createServer, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export class Balancer {
  readonly #server: Server;
  /** `http://127.0.0.1:port/mcp` of each edge. */
  edges: readonly string[] = [];
  #next = 0;

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      const edge = new URL(this.edges[this.#next % this.edges.length] as string);
      this.#next += 1;
      const passed = send(
        { host: edge.hostname, port: edge.port, method: request.method, path: request.url, headers: request.headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
          answer.pipe(response);
        },
      );
      passed.on('error', () => response.destroy());
      response.on('close', () => passed.destroy());
      request.pipe(passed);
    });
  }

  /** `http://127.0.0.1:port` */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.#server[Symbol.asyncDispose]();
  }
}
