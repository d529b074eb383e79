/** One address in front of several edges: each request goes to the next edge in turn, also on one connection. */
import { request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { StandInServer } from './stand-in-server.ts';

export class Balancer extends StandInServer {
  /** `http://127.0.0.1:port/mcp` of each edge. */
  edges: readonly string[] = [];
  #next = 0;

  static start(): Promise<Balancer> {
    return new Balancer().listen();
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
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
  }

  /** `http://127.0.0.1:port` */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }
}
