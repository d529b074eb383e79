/** Hostile servers on sockets: Streamable HTTP that answers in JSON or in events, HTTP+SSE, and WebSocket. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { WebSocketServer } from 'ws';
import { StandInServer } from '../support/stand-in-server.ts';
import type { Hostile } from './hostile.ts';
import type { Chooser } from './mutate.ts';

export type Wire = 'json' | 'events' | 'sse' | 'websocket';

const statuses = [200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 409, 410, 429, 500, 502, 503, 599];
const types = [
  'application/json',
  'text/event-stream',
  'text/html',
  '',
  'application/json; charset=utf-7',
  'TEXT/EVENT-STREAM',
  'x',
];

export class HostileServer extends StandInServer {
  readonly hostile: Hostile;
  readonly #wire: Wire;
  readonly #sockets = new WebSocketServer({ noServer: true });
  /** The streams of HTTP+SSE, the newest last. */
  readonly #streams: ServerResponse[] = [];

  private constructor(hostile: Hostile, wire: Wire) {
    super();
    this.hostile = hostile;
    this.#wire = wire;
    this.server.on('upgrade', (request: IncomingMessage, socket, head) => {
      this.#sockets.handleUpgrade(request, socket, head, (client) => {
        client.on('error', () => client.terminate());
        client.on('message', (data: Buffer) => {
          const choose = hostile.next();
          if (hostile.isNow(choose, 0.02)) client.terminate();
          else for (const text of hostile.answers(parse(data))) client.send(text, { binary: choose.chance(0.02) });
        });
      });
    });
  }

  static start(hostile: Hostile, wire: Wire): Promise<HostileServer> {
    return new HostileServer(hostile, wire).listen();
  }

  get url(): string {
    const address = `127.0.0.1:${this.port}`;
    return this.#wire === 'websocket'
      ? `ws://${address}/`
      : `http://${address}/${this.#wire === 'sse' ? 'sse' : 'mcp'}`;
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    response.on('error', () => response.destroy());
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const choose = this.hostile.next();
      if (this.hostile.isNow(choose, 0.03)) request.socket.destroy();
      else if (this.hostile.isNow(choose, 0.01)) response.setTimeout(5_000, () => response.destroy()); // Says nothing for longer than any limit.
      else if (request.method === 'POST') this.#post(Buffer.concat(chunks), response, choose);
      else if (request.method === 'GET') this.#stream(response, choose);
      else response.writeHead(405).end();
    });
  }

  #post(body: Buffer, response: ServerResponse, choose: Chooser): void {
    const said = this.hostile.answers(parse(body));
    const isOdd = this.hostile.isNow(choose, 0.2);
    if (this.#wire === 'sse') {
      response.writeHead(isOdd ? choose.of(statuses) : 202).end(isOdd ? said[0] : undefined);
      for (const text of said) this.#streams.at(-1)?.write(this.#event(text, choose));
      return;
    }
    const type = this.#wire === 'events' && said.length > 0 ? 'text/event-stream' : 'application/json';
    const headers: Record<string, string> = {
      'content-type': isOdd && choose.chance(0.5) ? choose.of(types) : type,
      ...(this.hostile.era === '2025-11-25'
        ? { 'mcp-session-id': isOdd ? choose.of(['', 'x'.repeat(3_000), 'a b', 'é', '__proto__']) : 'one' }
        : {}),
    };
    if (isOdd && choose.chance(0.2))
      Object.assign(
        headers,
        choose.of([
          { location: 'http://127.0.0.1:1/' },
          { 'retry-after': '9999999' },
          { 'content-encoding': 'gzip' },
          { 'www-authenticate': 'Bearer x' },
          { 'content-length': '3' },
        ]),
      );
    const status = isOdd && choose.chance(0.5) ? choose.of(statuses) : said.length === 0 ? 202 : 200;
    response.strictContentLength = false;
    response.writeHead(status, headers);
    for (const text of said) {
      response.write(type === 'text/event-stream' ? this.#event(text, choose) : text);
      if (isOdd && choose.chance(0.1)) response.destroy();
    }
    response.end();
  }

  #stream(response: ServerResponse, choose: Chooser): void {
    if (this.#wire === 'json' || this.#wire === 'websocket') {
      response.writeHead(choose.of([405, 405, 404, 500])).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (this.#wire === 'events') {
      response.write(this.#event(Buffer.from('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'), choose));
      if (this.hostile.isNow(choose, 0.5)) response.end();
      return;
    }
    this.#streams.push(response);
    response.on('close', () => this.#streams.splice(this.#streams.indexOf(response), 1));
    const endpoint = this.hostile.isNow(choose, 0.2)
      ? choose.of([
          '//evil.example/x',
          'http://127.0.0.1:1/',
          'javascript:1',
          '',
          '\u{0}',
          '/messages?'.padEnd(5_000, 'x'),
        ])
      : '/messages?sessionId=1';
    response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
  }

  /** An event, or something similar. */
  #event(text: Buffer, choose: Chooser): Buffer {
    const [head, tail] = this.hostile.isNow(choose, 0.2)
      ? choose.of([
          ['id: \u{0}\n', '\n\n'],
          ['retry: 0\n', '\n\n'],
          ['retry: 99999999999\n', '\n\n'],
          ['event: other\n', '\n\n'],
          [': '.padEnd(5_000, 'x') + '\n', '\n\n'],
          ['\u{feff}', '\r\n\r\n'],
          ['id: '.padEnd(9_000, 'é') + '\n', '\n\n'],
          ['data: \n', '\n\n'],
          ['', ''],
        ] as const)
      : (['', '\n\n'] as const);
    return Buffer.concat([Buffer.from(`${head}data: `), text, Buffer.from(tail)]);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    await super[Symbol.asyncDispose]();
  }
}

/** Messages of the gateway must be JSON. */
function parse(body: Buffer): unknown {
  return body.length === 0 ? undefined : JSON.parse(body.toString());
}
