/** A client with a session on a WebSocket: each text frame is one JSON-RPC message. */
import { once } from 'node:events';
import { Heard } from '@omnibus/bus/testing';
import type { JsonObject } from '@omnibus/protocol';
import type { Message } from './raw-client.ts';

export class SocketClient {
  readonly heard = new Heard<Message>();
  readonly #socket: WebSocket;
  #nextId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.heard.add(JSON.parse(String(data)) as Message));
  }

  /** @param url `ws://host:port/ws` */
  static async open(url: string): Promise<SocketClient> {
    const socket = new WebSocket(url, 'mcp');
    await once(socket, 'open');
    const client = new SocketClient(socket);
    await client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'socket', version: '1' },
    });
    client.send({ method: 'notifications/initialized' });
    return client;
  }

  send(message: JsonObject): void {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  request(method: string, params: JsonObject = {}): Promise<Message> {
    this.#nextId += 1;
    const id = this.#nextId;
    this.send({ id, method, params });
    return this.heard.untilSome((message) => message.id === id && message.method === undefined);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
