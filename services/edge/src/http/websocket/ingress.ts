/** One client on a WebSocket (a custom transport: basic/transports, Custom Transports): a JSON-RPC message per text frame each way. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Bus } from '@omnibus/bus';
import type { Facts } from '@omnibus/identity';
import { anonymous, fault, type Caller, type GatewayFault } from '@omnibus/protocol';
import { DuplexClient } from '../../duplex/duplex-client.ts';
import type { Endpoints } from '../../requests/endpoints.ts';
import { findEndpoint } from '../../requests/find-endpoint.ts';
import { knownCaller, withAddress, type Gate } from '../arrival.ts';
import type { Gatekeeper } from '../../callers/gatekeeper.ts';
import { answerRaw } from '../raw-answer.ts';
import type { Target } from '../steps/read-target.ts';
import type { RequestMeter } from '../../requests/request-meter.ts';
import type { Delivery } from '../../delivery/delivery.ts';
import { boundFrames } from './frames.ts';
import { Outgoing } from './outgoing.ts';

export interface WebSocketOptions {
  readonly bus: Bus;
  readonly delivery: Delivery;
  readonly gate: Gate;
  /** Undefined where callers are not authenticated. */
  readonly gatekeeper: Gatekeeper | undefined;
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
    const { base } = options;
    this.#noSuchPath = fault(
      'http.path_unknown',
      `WebSockets are served at ${base}/ws, ${base}/ws/<server> and ${base}/ws/<profile>`,
    );
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: options.gate.limits.maxBodyBytes,
      perMessageDeflate: false,
      autoPong: false,
      handleProtocols: (asked) => (asked.has(subprotocol) ? subprotocol : false),
    });
  }

  /** Handles an upgrade. @param socket must have a listener for errors, since Node removes its own. */
  readonly handleUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const {
      gate: { boundary, metrics, proofs },
      gatekeeper,
      endpoints,
      targetOf,
    } = this.#options;
    const refuse = (gatewayFault: GatewayFault, headers: readonly string[] = []): void => {
      metrics.refused(gatewayFault.reason);
      answerRaw(socket, gatewayFault, headers);
    };
    boundary.run(refuse, () => {
      const target = targetOf(request);
      if ('fault' in target) {
        refuse(target.fault);
        return;
      }
      const endpoint = findEndpoint(target.path, path);
      const serve = (caller: Caller, facts?: Facts): void => {
        if (endpoints.isFor(caller.endpoint, facts?.tenant))
          this.#server.handleUpgrade(request, socket, head, (client) => this.#serve(client, request, caller, facts));
        else refuse(this.#noSuchPath);
      };
      if (endpoint === undefined || !endpoints.has(endpoint)) refuse(this.#noSuchPath);
      else if (this.#isDraining) refuse(fault('gateway.draining'));
      else if (gatekeeper === undefined)
        serve(withAddress({ principal: anonymous, endpoint }, request, this.#options.gate));
      else
        gatekeeper.ask(request, target.path, endpoint, { run: (part) => boundary.run(refuse, part) }, (verdict) => {
          if ('fault' in verdict)
            refuse(verdict.fault, [`www-authenticate: ${gatekeeper.challenge(verdict.fault, target.path)}`]);
          else serve(withAddress(knownCaller(verdict, endpoint, proofs), request, this.#options.gate), verdict);
        });
    });
  };

  /** Refuses new connections from now on, since each is a session. */
  drain(): void {
    this.#isDraining = true;
  }

  stop(): void {
    for (const client of this.#server.clients) client.close(goingAway);
    this.#server.close();
  }

  #serve(webSocket: WebSocket, request: IncomingMessage, caller: Caller, facts: Facts | undefined): void {
    const { bus, delivery, gate, meter, requestMs } = this.#options;
    const { boundary, rate, limits, metrics, unread } = gate;
    const socket: Socket = request.socket;
    const address = gate.addresses.of(request);
    // A connection whose other end is gone without a word is found out by asking it.
    let isAlive = true;
    const outgoing = new Outgoing(webSocket, {
      maxWaiting: limits.maxInFlightPerSession,
      maxBufferedBytes: limits.maxBufferedBytes,
      cutOff: () => unread.cutOff(socket),
      wrote: () => unread.wrote(socket, () => address),
      taken: () => {
        isAlive = true;
      },
    });
    const origin = facts === undefined ? gate.addresses.originOf(request) : undefined;
    const client = new DuplexClient({
      bus,
      delivery,
      limits,
      caller: origin === undefined ? caller : { ...caller, origin },
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
    const { endpoint } = caller;
    if (facts !== undefined)
      webSocket.once(
        'close',
        gate.credentialLifetimes.begin(
          {
            facts,
            request,
            endpoint,
            changed: (now, hasOtherRights) =>
              client.proves(withAddress(knownCaller(now, endpoint, gate.proofs), request, gate), hasOtherRights),
          },
          () => webSocket.close(policyViolation),
        ),
      );
    const pings = setInterval(() => {
      if (!isAlive) webSocket.terminate();
      isAlive = false;
      webSocket.ping();
    }, pingMs).unref();
    boundFrames(webSocket, socket, {
      lease: gate.bodies.lease(address),
      requestMs,
      exceeded: ({ reason }) => {
        metrics.refused(reason);
        webSocket.terminate();
      },
    });
    webSocket.on('pong', () => {
      isAlive = true;
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
    // What is wrong with a frame ends the connection, with the code for it; `close` follows.
    webSocket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      if (code.startsWith(brokenFrame)) metrics.refused(code === tooLarge ? 'message.too_large' : 'message.invalid');
    });
    webSocket.on('close', () => {
      clearInterval(pings);
      metrics.streams.dec();
      void client.end();
    });
  }
}
