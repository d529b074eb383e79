/** A WebSocket as a client (a custom transport: basic/transports, Custom Transports): a JSON-RPC message per text frame each way. */
import { WebSocket } from 'ws';
import type { JsonRpcId, JsonRpcMessage, JsonRpcRequest } from '@omnibus/protocol';
import type { Transport, TransportObserver } from './transport.ts';

export interface WebSocketTransportOptions {
  readonly url: string;
  /** Sent with the request that opens the connection. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  readonly openTimeoutMs: number;
}

const subprotocol = 'mcp';

export class WebSocketTransport implements Transport {
  readonly isLegacyOnly = false;
  readonly closesToCancel = false;
  readonly #options: WebSocketTransportOptions;
  readonly #observer: TransportObserver;
  #socket: WebSocket | undefined;
  #isClosed = false;

  constructor(options: WebSocketTransportOptions, observer: TransportObserver) {
    this.#options = options;
    this.#observer = observer;
  }

  open(): Promise<void> {
    const { url, headers, maxMessageBytes, openTimeoutMs } = this.#options;
    const socket = new WebSocket(url, subprotocol, { headers, maxPayload: maxMessageBytes, handshakeTimeout: openTimeoutMs, perMessageDeflate: false });
    this.#socket = socket;
    return new Promise((resolve, reject) => {
      let problem = 'the server closed the connection';
      let isOpen = false;
      socket.on('open', () => {
        isOpen = true;
        resolve();
      });
      socket.on('error', (error) => {
        problem = isOpen ? `the connection broke: ${error.message}` : `cannot connect: ${error.message}`;
      });
      socket.on('close', () => {
        if (!isOpen) reject(new Error(problem));
        else if (!this.#isClosed) this.#observer.lost(problem);
      });
      socket.on('message', (data: Buffer) => this.#receive(data.toString('utf8')));
    });
  }

  request(message: JsonRpcRequest): void {
    if (!this.#send(message)) this.#observer.requestFailed(message.id, { kind: 'not-sent', problem: 'the connection is not open' });
  }

  send(message: JsonRpcMessage): void {
    this.#send(message);
  }

  abandon(_id: JsonRpcId): void {
    // Nothing is held open for a single request here.
  }

  initialized(): void {
    // Frames are the same in every revision.
  }

  close(): Promise<void> {
    this.#isClosed = true;
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return Promise.resolve();
    return new Promise((resolve) => {
      socket.once('close', () => resolve());
      socket.close();
    });
  }

  #send(message: JsonRpcMessage): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  #receive(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#observer.invalid(`the server sent what is no JSON: ${text.slice(0, 200)}`);
      return;
    }
    this.#observer.message(value, undefined);
  }
}
