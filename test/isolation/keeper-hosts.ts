/** Keepers (`keeper.ts`) on real sockets: Streamable HTTP, HTTP+SSE (2024-11-05) and WebSockets. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { WebSocketServer } from 'ws';
import type { Guard } from './guard.ts';
import { newSecret, secretsIn } from './markers.ts';
import type { JsonObject, JsonRpcRequest } from '@omnibus/protocol';
import { StandInServer } from '../support/stand-in-server.ts';
import { Keeper, KeeperStore, type KeeperRevision, type Note } from './keeper.ts';

interface Connection {
  readonly keeper: Keeper;
  /** The standing GET stream, or the one stream of HTTP+SSE. */
  stream: ServerResponse | undefined;
  /** Messages that wait for a stream. */
  waiting: JsonObject[];
}

export class KeeperHost extends StandInServer {
  readonly #name: string;
  readonly #revision: KeeperRevision;
  readonly #note: (note: Note) => void;
  readonly #guard: Guard | undefined;
  readonly #store = new KeeperStore();
  readonly #sockets: WebSocketServer;
  readonly #connections = new Map<string, Connection>();
  #count = 0;

  private constructor(name: string, revision: KeeperRevision, note: (note: Note) => void, guard: Guard | undefined) {
    super();
    this.#guard = guard;
    this.#name = name;
    this.#revision = revision;
    this.#note = note;
    this.#sockets = new WebSocketServer({ server: this.server });
    this.#sockets.on('connection', (socket) => {
      const standing = (message: JsonObject): void => socket.send(JSON.stringify(message));
      const keeper = this.#newKeeper(standing);
      socket.on(
        'message',
        (data) => void keeper.receive(JSON.parse(String(data as Buffer)) as JsonRpcRequest, standing),
      );
      socket.on('close', () => keeper.close());
    });
  }

  /** @param name of the server in the gateway's configuration, which its observations contain. @param guard left out if all may use it. */
  static start(name: string, revision: KeeperRevision, note: (note: Note) => void, guard?: Guard): Promise<KeeperHost> {
    return new KeeperHost(name, revision, note, guard).listen();
  }

  url(transport: 'http' | 'sse' | 'ws'): string {
    const { port } = this;
    return transport === 'ws'
      ? `ws://127.0.0.1:${port}/`
      : `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    await super[Symbol.asyncDispose]();
  }

  #newKeeper(standing: (message: JsonObject) => void): Keeper {
    this.#count += 1;
    return new Keeper({
      revision: this.#revision,
      connection: `${this.#name}/${this.#count}`,
      store: this.#store,
      note: this.#note,
      standing,
    });
  }

  #connect(): readonly [id: string, connection: Connection] {
    const id = newSecret().slice(3); // Not guessable, and of another form than secrets of clients.
    const keeper = this.#newKeeper((message) => {
      if (connection.stream === undefined) connection.waiting.push(message);
      else write(connection.stream, message);
    });
    const connection: Connection = { keeper, stream: undefined, waiting: [] };
    this.#connections.set(id, connection);
    return [id, connection];
  }

  #attach(connection: Connection, response: ServerResponse): void {
    connection.stream = response;
    response.once('close', () => {
      if (connection.stream === response) connection.stream = undefined;
    });
    for (const message of connection.waiting.splice(0)) write(response, message);
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isModern = this.#revision === '2026-07-28';
    const isEventSource = this.#revision === '2024-11-05';
    const user = await this.#guard?.admit(request, response);
    if (this.#guard !== undefined && user === undefined) return;
    const url = new URL(request.url ?? '/', 'http://keeper');
    const known = this.#connections.get(
      String(isEventSource ? url.searchParams.get('c') : request.headers['mcp-session-id']),
    );
    if (request.method === 'GET' && isEventSource && url.pathname === '/sse') {
      const [id, connection] = this.#connect();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: /messages?c=${id}\n\n`);
      this.#attach(connection, response);
      response.once('close', () => this.#drop(id));
      return;
    }
    if (request.method === 'GET' && !isModern) {
      if (known === undefined) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      this.#attach(known, response);
      return;
    }
    if (request.method === 'DELETE') this.#drop(String(request.headers['mcp-session-id']));
    if (request.method !== 'POST' || (isEventSource && known === undefined)) {
      response.writeHead(request.method === 'DELETE' ? 204 : 405).end();
      return;
    }
    const message = (await json(request)) as JsonRpcRequest;
    if (user !== undefined)
      for (const secret of secretsIn(JSON.stringify(message)))
        this.#note({ connection: `${this.#name}/token`, kind: 'account', secret, user });
    if (isModern) this.#serveModern(message, response);
    else if (isEventSource) this.#serveEventSource(message, known as Connection, response);
    else this.#serve(message, known, response);
  }

  #drop(id: string): void {
    this.#connections.get(id)?.keeper.close();
    this.#connections.delete(id);
  }

  /** One stream for all messages. */
  #serveEventSource(message: JsonRpcRequest, { keeper, stream }: Connection, response: ServerResponse): void {
    response.writeHead(202).end('Accepted');
    void keeper.receive(message, (said) => {
      if (stream !== undefined) write(stream, said);
    });
  }

  #serve(message: JsonRpcRequest, known: Connection | undefined, response: ServerResponse): void {
    let connection = known;
    if (connection === undefined) {
      if (message.method !== 'initialize') {
        response.writeHead(404).end();
        return;
      }
      const [id, opened] = this.#connect();
      response.setHeader('mcp-session-id', id);
      connection = opened;
    }
    if (message.id === undefined || !('method' in message)) {
      response.writeHead(202).end();
      void connection.keeper.receive(message, () => undefined);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    void connection.keeper.receive(message, (said) => write(response, said)).then(() => response.end());
  }

  /** All requests of 2026-07-28 are served by one keeper, since only the request itself identifies its client. */
  #serveModern(message: JsonRpcRequest, response: ServerResponse): void {
    const connection = this.#connections.get('all') ?? this.#open();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const own = (said: JsonObject): void => write(response, said);
    response.once('close', () => connection.keeper.drop(message.id, own));
    void connection.keeper.receive(message, own).then(() => {
      if (message.method !== 'subscriptions/listen') response.end();
    });
  }

  #open(): Connection {
    const connection: Connection = { keeper: this.#newKeeper(() => undefined), stream: undefined, waiting: [] };
    this.#connections.set('all', connection);
    return connection;
  }
}

function write(response: ServerResponse, message: JsonObject): void {
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
