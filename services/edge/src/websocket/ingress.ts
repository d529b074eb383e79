/** One client on a WebSocket (a custom transport: basic/transports, Custom Transports): a JSON-RPC message per text frame each way. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Bus } from '@omnibus/bus';
import { anonymous, isToken, type Caller, type EndpointName, type GatewayFault, type Limits } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import { DuplexClient } from '../duplex-client.ts';
import type { RequestMeter } from '../request-meter.ts';
import type { SessionDoor } from '../session-door.ts';
import { parseMessage } from '../parse-message.ts';

export interface WebSocketOptions {
  readonly bus: Bus;
  readonly door: SessionDoor;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly meter: RequestMeter;
  /** Refuses what Host and Origin forbid. */
  readonly check: (request: IncomingMessage) => GatewayFault | undefined;
}

const path = /^\/ws(?:\/([^/?]+))?\/?(?:\?.*)?$/;
/** What clients of the official SDK ask for. */
const subprotocol = 'mcp';
/** RFC 6455, 7.4.1: the endpoint is going away. */
const goingAway = 1001;
/** RFC 6455, 7.4.1: a message too big, or of a kind that is not taken. */
const unsupportedData = 1003;
const pingMs = 30_000;

export class WebSocketIngress {
  readonly #options: WebSocketOptions;
  readonly #server: WebSocketServer;

  constructor(options: WebSocketOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      noServer: true, maxPayload: options.limits.maxBodyBytes, perMessageDeflate: false,
      handleProtocols: (asked) => (asked.has(subprotocol) ? subprotocol : false),
    });
  }

  readonly handleUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const match = path.exec(request.url ?? '');
    const endpoint = match?.[1] ?? '';
    const refusal = match === null || !(endpoint === '' || isToken(endpoint)) ? '404 Not Found' : this.#options.check(request) === undefined ? undefined : '403 Forbidden';
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (client) => this.#serve(client, { principal: anonymous, endpoint: endpoint as EndpointName }));
  };

  stop(): void {
    for (const client of this.#server.clients) client.close(goingAway);
    this.#server.close();
  }

  #serve(socket: WebSocket, caller: Caller): void {
    const { bus, door, limits, metrics, meter } = this.#options;
    const client = new DuplexClient({
      bus, door, limits, caller, meter,
      carrier: 'websocket',
      write: (text) => {
        socket.send(text);
        if (socket.bufferedAmount <= limits.maxBufferedBytes) return;
        metrics.slowReaders.inc();
        socket.terminate();
      },
      ended: () => socket.close(goingAway),
    });
    metrics.streams.inc();
    // A connection whose other end is gone without a word is found out by asking it.
    let isAlive = true;
    const pings = setInterval(() => {
      if (!isAlive) socket.terminate();
      isAlive = false;
      socket.ping();
    }, pingMs).unref();
    socket.on('pong', () => {
      isAlive = true;
    });
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) socket.close(unsupportedData);
      else client.receive(parseMessage(data, limits));
    });
    // What is wrong with a frame ends the connection; `close` follows.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(pings);
      metrics.streams.dec();
      void client.end();
    });
  }
}
