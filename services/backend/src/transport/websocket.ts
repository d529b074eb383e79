/** A WebSocket as a client (a custom transport: basic/transports, Custom Transports): each text frame is one JSON-RPC message, in either direction. */
import { isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { WebSocket } from 'ws';
import { mostPieces } from '@omnibus/collections';
import { proxyTo } from '@omnibus/lifecycle';
import { readChallenge, type HeaderSource, type SentHeaders } from '@omnibus/credentials';
import type { JsonRpcId, JsonRpcMessage, JsonRpcRequest } from '@omnibus/protocol';
import { tunnelled } from './agents.ts';
import { forbiddenHost, lookupUnder, refusal, type AddressRule } from './address-rule.ts';
import { lowerCased, usualHeaders } from './http-options.ts';
import type { ServerTls } from './server-tls.ts';
import { readIncoming, type MessageLimits } from './incoming.ts';
import type { Transport, TransportObserver } from './transport.ts';
import { Troubled, troubleOfStatus } from './trouble.ts';

export interface WebSocketTransportOptions {
  readonly url: string;
  /** Headers of the request that opens the connection. */
  readonly headers: Readonly<Record<string, string>>;
  /** Further credentials for that request; if the server refuses them, the next attempt shows fresh ones. */
  readonly credentials: HeaderSource | undefined;
  readonly limits: MessageLimits;
  readonly openTimeoutMs: number;
  /** Undefined where any address is allowed. */
  readonly addresses: AddressRule | undefined;
  /** The option `proxy` of the server. */
  readonly proxy: string | undefined;
  /** Undefined where TLS is as Node makes it. */
  readonly tls: ServerTls | undefined;
}

const subprotocol = 'mcp';
/** How long the other side must close the connection too. */
const closeTimeoutMs = 2_000;

export class WebSocketTransport implements Transport {
  readonly needsNoProbe = false;
  readonly closesToCancel = false;
  readonly keepsOrder = true;
  readonly takesNamelessErrors = true;
  readonly hasState = true;
  readonly #options: WebSocketTransportOptions;
  readonly #observer: TransportObserver;
  #socket: WebSocket | undefined;
  #isClosed = false;

  constructor(options: WebSocketTransportOptions, observer: TransportObserver) {
    this.#options = options;
    this.#observer = observer;
  }

  async open(): Promise<void> {
    const { url, addresses, credentials } = this.#options;
    const problem = addresses === undefined ? undefined : forbiddenHost(new URL(url).hostname, addresses);
    if (problem !== undefined) throw refusal(problem, addresses ?? {});
    const shown = await credentials?.ask();
    const to = new URL(url);
    const through = proxyTo(to, this.#options.proxy);
    const tunnel = through === undefined ? undefined : await tunnelled(through, to, addresses);
    if (this.#isClosed) {
      tunnel?.destroy();
      throw new Error('the connection was closed while it was being opened');
    }
    await this.#connect(shown, tunnel);
  }

  /** @param tunnel a connection through a proxy; undefined for a direct one. */
  #connect(shown: SentHeaders | undefined, tunnel: Socket | undefined): Promise<void> {
    const { url, headers, limits, openTimeoutMs, addresses, credentials, tls } = this.#options;
    const socket = new WebSocket(url, subprotocol, {
      headers: { ...usualHeaders, ...lowerCased(headers), ...shown },
      maxPayload: limits.maxUpstreamMessageBytes,
      maxBufferedChunks: mostPieces(limits.maxUpstreamMessageBytes),
      handshakeTimeout: openTimeoutMs,
      perMessageDeflate: false,
      followRedirects: false,
      ...(addresses === undefined ? {} : { lookup: lookupUnder(addresses) }),
      ...tls?.read(),
      ...(tunnel === undefined
        ? {}
        : {
            createConnection: () =>
              url.startsWith('wss:')
                ? connectTls({ ...tls?.read(), socket: tunnel, ...serverNameOf(new URL(url).hostname) })
                : tunnel,
          }),
    });
    this.#socket = socket;
    return new Promise((resolve, reject) => {
      let problem = 'the server closed the connection';
      let isOpen = false;
      let refused: Troubled | undefined;
      socket.on('open', () => {
        isOpen = true;
        resolve();
      });
      if (credentials !== undefined && shown !== undefined)
        socket.on('unexpected-response', (_request, { statusCode, headers: said }) => {
          refused = new Troubled(troubleOfStatus(statusCode), `cannot connect: the server answered HTTP ${statusCode}`);
          if (statusCode === 401)
            void credentials.refused(shown, readChallenge(said['www-authenticate'])).catch(() => undefined);
          socket.terminate();
        });
      socket.on('error', (error) => {
        problem = isOpen ? `the connection broke: ${error.message}` : `cannot connect: ${error.message}`;
      });
      socket.on('close', () => {
        if (!isOpen) reject(refused ?? new Troubled('address', problem));
        else if (!this.#isClosed) this.#observer.lost(problem);
      });
      socket.on('message', (data: Buffer) => this.#hear(data));
    });
  }

  request(message: JsonRpcRequest): void {
    if (!this.#send(message))
      this.#observer.requestFailed(message.id, {
        kind: 'not-sent',
        problem: 'the connection is not open, or the server does not read',
      });
  }

  send(message: JsonRpcMessage, settled?: () => void): void {
    if (!this.#send(message))
      this.#observer.dropped('undelivered', 'the connection is not open, or the server does not read');
    settled?.();
  }

  abandon(_id: JsonRpcId): void {
    // A single request has no resource here.
  }

  agreed(): void {
    // Frames are the same in every revision.
  }

  listen(): void {
    // The server's messages are received already.
  }

  close(): Promise<void> {
    this.#isClosed = true;
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return Promise.resolve();
    return new Promise((resolve) => {
      const limit = setTimeout(() => socket.terminate(), closeTimeoutMs);
      socket.once('close', () => {
        clearTimeout(limit);
        resolve();
      });
      socket.close();
    });
  }

  #send(message: JsonRpcMessage): boolean {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN || socket.bufferedAmount > this.#options.limits.maxUpstreamMessageBytes)
      return false;
    socket.send(JSON.stringify(message));
    return true;
  }

  #hear(data: Buffer): void {
    if (this.#isClosed) return;
    const incoming = readIncoming(data, this.#options.limits);
    if ('value' in incoming) this.#observer.message(incoming.value, undefined);
    else if (incoming.id === null || incoming.id === undefined)
      this.#observer.dropped('invalid', incoming.problem, incoming.question, incoming.isAnswer);
    else this.#observer.requestFailed(incoming.id, { kind: 'invalid', problem: incoming.problem });
  }
}

/** The name that the server's certificate must have (RFC 6066, 3: no address). */
function serverNameOf(hostname: string): { readonly servername?: string; readonly host: string } {
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { servername: hostname, host: hostname } : { host: hostname };
}
