/** One client on a WebSocket (a custom transport: basic/transports, Custom Transports): a JSON-RPC message per text frame each way. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Bus } from '@omnibus/bus';
import { mostPieces } from '@omnibus/collections';
import { fault, type GatewayFault } from '@omnibus/protocol';
import { nonceIn, type Sender, type Verdict } from '../../callers/callers.ts';
import { DuplexClient } from '../../duplex/duplex-client.ts';
import { findEndpoint, type Endpoints } from '../../requests/endpoints.ts';
import type { Gate } from '../arrival.ts';
import { answerRaw } from '../raw-answer.ts';
import type { Target } from '../target.ts';
import type { RequestMeter } from '../../requests/request-meter.ts';
import type { Delivery } from '../../delivery/delivery.ts';
import { boundFrames } from './frames.ts';
import { Outgoing } from './outgoing.ts';

export interface WebSocketOptions {
  readonly bus: Bus;
  readonly delivery: Delivery;
  readonly gate: Gate;
  readonly meter: RequestMeter;
  readonly endpoints: Endpoints;
  /** Milliseconds in which a message has to arrive completely. */
  readonly requestMs: number;
  /** The path below which the gateway stands; empty where it stands at the root. */
  readonly base: string;
  /** Reads and checks target, Host and Origin. */
  readonly targetOf: (request: IncomingMessage) => Target | { readonly fault: GatewayFault };
}

const path = '/ws';
/** The subprotocol that clients of the official SDK request. */
const subprotocol = 'mcp';
/** RFC 6455, 7.4.1: the endpoint is going away. */
const goingAway = 1001;
/** RFC 6455, 7.4.1: a message of a kind that is not accepted. */
const unsupportedData = 1003;
/** RFC 6455, 7.4.1: for reasons without a code of their own; here, that the credentials are no longer valid. */
const policyViolation = 1008;
const pingMs = 30_000;
/** Prefix of the error codes of `ws` about frames, and the code about their length. */
const brokenFrame = 'WS_ERR_';
const tooLarge = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

export class WebSocketIngress {
  readonly #options: WebSocketOptions;
  readonly #server: WebSocketServer;
  /** The same answer for an endpoint of another tenant as for one that does not exist. */
  readonly #noSuchPath: GatewayFault;
  #isDraining = false;

  constructor(options: WebSocketOptions) {
    this.#options = options;
    const {
      base,
      gate: {
        limits: { maxBodyBytes },
      },
    } = options;
    this.#noSuchPath = fault(
      'http.path_unknown',
      `WebSockets are served at ${base}/ws, ${base}/ws/<server> and ${base}/ws/<profile>`,
    );
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: maxBodyBytes,
      maxBufferedChunks: mostPieces(maxBodyBytes),
      perMessageDeflate: false,
      autoPong: false,
      handleProtocols: (asked) => (asked.has(subprotocol) ? subprotocol : false),
    });
  }

  /** Handles an upgrade. @param socket must have a listener for errors, since Node removes its own. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const {
      gate: { boundary, callers },
      endpoints,
      targetOf,
    } = this.#options;
    const refuse = (gatewayFault: GatewayFault): void => this.#refuse(socket, gatewayFault);
    boundary.run(refuse, () => {
      const target = targetOf(request);
      if ('fault' in target) {
        refuse(target.fault);
        return;
      }
      const endpoint = findEndpoint(target.path, path);
      if (endpoint === undefined || !endpoints.has(endpoint)) refuse(this.#noSuchPath);
      else if (this.#isDraining) refuse(fault('gateway.draining'));
      else {
        const decide = (verdict: Verdict): void => {
          if ('fault' in verdict) this.#refuse(socket, verdict.fault, callers.challenge(verdict.fault, target.path));
          else if (!endpoints.isFor(endpoint, verdict.tenant)) refuse(this.#noSuchPath);
          else this.#server.handleUpgrade(request, socket, head, (client) => this.#serve(client, request, verdict));
        };
        const verdict = callers.admit(request, target.path, endpoint);
        if (!(verdict instanceof Promise)) decide(verdict);
        else
          verdict
            .then((found) => {
              if (!socket.destroyed) decide(found);
            })
            .catch((error: unknown) => boundary.failed(refuse, error));
      }
    });
  }

  #refuse(socket: Duplex, gatewayFault: GatewayFault, challenge?: string): void {
    this.#options.gate.metrics.refused(gatewayFault.reason);
    const nonce = nonceIn(gatewayFault);
    answerRaw(socket, gatewayFault, [
      ...(challenge === undefined ? [] : [`www-authenticate: ${challenge}`]),
      ...(nonce === undefined ? [] : [`dpop-nonce: ${nonce}`]),
    ]);
  }

  /** Refuses new connections from now on, since each is a session. */
  drain(): void {
    this.#isDraining = true;
  }

  stop(): void {
    for (const client of this.#server.clients) client.close(goingAway);
    this.#server.close();
  }

  #serve(webSocket: WebSocket, request: IncomingMessage, sender: Sender): void {
    const { bus, delivery, gate, meter, requestMs } = this.#options;
    const { boundary, rate, limits, metrics } = gate;
    const socket: Socket = request.socket;
    const address = gate.callers.addresses.of(request);
    const alive = new Alive(webSocket);
    const outgoing = this.#outgoing(webSocket, socket, address, alive);
    const client = new DuplexClient({
      bus,
      delivery,
      limits,
      caller: sender.byOrigin(request),
      meter,
      boundary,
      rate,
      bodies: gate.bodies,
      address,
      carrier: 'websocket',
      write: (text) => outgoing.send(text),
      ended: () => webSocket.close(goingAway),
    });
    metrics.streams.inc();
    const stopFollowing = sender.follow(
      (caller, hasOtherRights) => client.proves(caller, hasOtherRights),
      () => webSocket.close(policyViolation),
    );
    boundFrames(webSocket, socket, {
      lease: gate.bodies.lease(address),
      requestMs,
      exceeded: ({ reason }) => {
        metrics.refused(reason);
        webSocket.terminate();
      },
    });
    webSocket.on('ping', (data: Buffer) => outgoing.pong(data));
    webSocket.on('message', (data: Buffer, isBinary: boolean) => {
      if (!isBinary) {
        client.receiveBytes(data);
        return;
      }
      metrics.refused('message.invalid');
      webSocket.close(unsupportedData);
    });
    // An invalid frame ends the connection, with its code; `close` follows.
    webSocket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      if (code.startsWith(brokenFrame)) metrics.refused(code === tooLarge ? 'message.too_large' : 'message.invalid');
    });
    webSocket.on('close', () => {
      stopFollowing?.();
      alive.stop();
      metrics.streams.dec();
      void client.end();
    });
  }

  #outgoing(webSocket: WebSocket, socket: Socket, address: string, alive: Alive): Outgoing {
    const { limits, unread } = this.#options.gate;
    const client = { address: () => address };
    return new Outgoing(webSocket, {
      maxWaiting: limits.maxInFlightPerSession,
      maxBufferedBytes: limits.maxBufferedBytes,
      cutOff: () => unread.cutOff(socket),
      wrote: () => unread.wrote(socket, client),
      taken: () => alive.seen(),
    });
  }
}

/** Finds a connection with a silently gone peer, by pings. */
class Alive {
  #isSeen = true;
  readonly #pings: NodeJS.Timeout;

  constructor(webSocket: WebSocket) {
    this.#pings = setInterval(() => {
      if (!this.#isSeen) webSocket.terminate();
      this.#isSeen = false;
      webSocket.ping();
    }, pingMs).unref();
    webSocket.on('pong', () => this.seen());
  }

  /** The other end has answered, or taken bytes. */
  seen(): void {
    this.#isSeen = true;
  }

  stop(): void {
    clearInterval(this.#pings);
  }
}
