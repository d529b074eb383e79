/** One client on a WebSocket (a custom transport: basic/transports, Custom Transports): a JSON-RPC message per text frame each way. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Bus } from '@omnibus/bus';
import { anonymous, fault, type Caller, type EndpointName, type GatewayFault } from '@omnibus/protocol';
import { DuplexClient } from '../duplex-client.ts';
import type { Endpoints } from '../endpoints.ts';
import type { Gate } from '../http/arrival.ts';
import { answerRaw } from '../http/raw-answer.ts';
import type { Target } from '../http/steps/read-target.ts';
import type { RequestMeter } from '../request-meter.ts';
import type { SessionDoor } from '../session-door.ts';
import { boundFrames } from './frames.ts';

export interface WebSocketOptions {
  readonly bus: Bus;
  readonly door: SessionDoor;
  readonly gate: Gate;
  readonly meter: RequestMeter;
  readonly endpoints: Endpoints;
  /** Refuses what target, Host and Origin forbid. */
  readonly targetOf: (request: IncomingMessage) => Target | { readonly fault: GatewayFault };
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
      noServer: true, maxPayload: options.gate.limits.maxBodyBytes, perMessageDeflate: false, autoPong: false,
      handleProtocols: (asked) => (asked.has(subprotocol) ? subprotocol : false),
    });
  }

  /** @param socket has a listener for its errors: nobody else looks after it any more. */
  readonly handleUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const { gate: { boundary, metrics }, endpoints, targetOf } = this.#options;
    const refuse = (gatewayFault: GatewayFault): void => {
      metrics.refused(gatewayFault.reason);
      answerRaw(socket, gatewayFault);
    };
    boundary.run(refuse, () => {
      const target = targetOf(request);
      const match = 'fault' in target ? null : path.exec(target.path);
      const endpoint = match?.[1] ?? '';
      if ('fault' in target) refuse(target.fault);
      else if (match === null || !endpoints.has(endpoint)) refuse(fault('http.path_unknown', 'WebSockets are served at /ws, /ws/<server> and /ws/<profile>'));
      else this.#server.handleUpgrade(request, socket, head, (client) => this.#serve(client, request, { principal: anonymous, endpoint: endpoint as EndpointName }));
    });
  };

  stop(): void {
    for (const client of this.#server.clients) client.close(goingAway);
    this.#server.close();
  }

  #serve(webSocket: WebSocket, request: IncomingMessage, caller: Caller): void {
    const { bus, door, gate, meter } = this.#options;
    const { boundary, rate, limits, metrics, unread } = gate;
    const socket: Socket = request.socket;
    const address = gate.addresses.of(request);
    /** @returns false when the client does not read: it is cut off. */
    const mayWrite = (): boolean => {
      if (webSocket.bufferedAmount <= limits.maxBufferedBytes) return true;
      unread.cutOff(socket);
      return false;
    };
    const origin = gate.addresses.originOf(request);
    const client = new DuplexClient({
      bus, door, limits, caller: origin === undefined ? caller : { ...caller, origin }, meter, boundary, rate, address,
      carrier: 'websocket',
      write: (text) => {
        if (webSocket.readyState !== webSocket.OPEN || !mayWrite()) return;
        webSocket.send(text);
        unread.wrote(socket, () => address);
      },
      ended: () => webSocket.close(goingAway),
    });
    metrics.streams.inc();
    // A connection whose other end is gone without a word is found out by asking it.
    let isAlive = true;
    const pings = setInterval(() => {
      if (!isAlive) webSocket.terminate();
      isAlive = false;
      webSocket.ping();
    }, pingMs).unref();
    boundFrames(webSocket, socket, gate.bodies.lease(address), () => {
      metrics.refused('gateway.busy');
      webSocket.terminate();
    });
    webSocket.on('pong', () => {
      isAlive = true;
    });
    webSocket.on('ping', (data: Buffer) => {
      if (mayWrite()) webSocket.pong(data);
    });
    webSocket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) webSocket.close(unsupportedData);
      else client.receiveBytes(data);
    });
    // What is wrong with a frame ends the connection; `close` follows.
    webSocket.on('error', () => undefined);
    webSocket.on('close', () => {
      clearInterval(pings);
      metrics.streams.dec();
      void client.end();
    });
  }
}
