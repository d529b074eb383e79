/** The HTTP side of the gateway. */
import type { IncomingMessage, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { openStreamJournal, type Bus } from '@omnibus/bus';
import { isLoopback, type Config } from '@omnibus/config';
import { followTls, readTls, type TlsFiles } from '@omnibus/identity';
import { listenProblem, type DeadlineWheel } from '@omnibus/lifecycle';
import {
  basePathOf,
  idSequence,
  newWorkerId,
  pathBelow,
  type GatewayFault,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { Faults, type Logger, type Metrics } from '@omnibus/telemetry';
import { ByteBudget } from './bounds/byte-budget.ts';
import { maxOpenFiles } from './bounds/open-files.ts';
import { OpeningRate } from './bounds/opening-rate.ts';
import { Unread } from './bounds/unread.ts';
import type { Callers } from './callers/callers.ts';
import { Delivery } from './delivery/delivery.ts';
import type { Gate } from './http/arrival.ts';
import { connectGuest, type Guest, type GuestOptions } from './http/guest.ts';
import { Router } from './http/router.ts';
import { createClientServer } from './http/server.ts';
import type { Site } from './http/site.ts';
import { loopbackNames } from './http/target.ts';
import { TlsClients } from './http/tls-clients.ts';
import { WebSocketIngress } from './http/websocket/ingress.ts';
import { Boundary } from './requests/boundary.ts';
import type { EdgeWatcher } from './requests/edge-watcher.ts';
import { Endpoints } from './requests/endpoints.ts';
import type { RequestMeter } from './requests/request-meter.ts';

/** Milliseconds for answers that were written to leave this machine before connections are closed. */
const flushMs = 50;

export interface EdgeOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly meter: RequestMeter;
  /** Undefined where clients connect without TLS. */
  readonly tls?: TlsFiles | undefined;
  /** The callers (`openCallers`). */
  readonly callers: Callers;
  /** Pages other than the endpoints, such as those of the gateway's own authorization server; undefined where there are none. */
  readonly site?: Site | undefined;
  /** Undefined if refusals and losses are not on record. */
  readonly watcher?: EdgeWatcher | undefined;
}

/** A path at which nothing is served, in place of one that is not below that of the gateway. */
const nowhere = '/-';

export class Edge {
  readonly #options: EdgeOptions;
  readonly #server: Server;
  readonly #delivery: Delivery;
  readonly #router: Router;
  readonly #webSockets: WebSocketIngress;
  readonly #endpoints: Endpoints;
  readonly #host: string;
  readonly #port: number;
  /** The path below which the gateway stands. */
  readonly #base: string;
  #endTls: (() => Promise<void>) | undefined;
  /** Connections over TLS, since the server's own list lacks those that are still in their handshake. */
  readonly #sockets = new Set<Socket>();
  readonly #gate: Gate;
  #isLeaving = false;

  constructor(options: EdgeOptions) {
    this.#options = options;
    const { config, bus, wheel, log, meter, watcher } = options;
    const { hostname, port } = new URL(`http://${config.listen}`);
    this.#host = hostname;
    this.#port = Number(port || 80);
    this.#base = basePathOf(config.publicUrl);
    this.#gate = gateOf(options);
    this.#delivery = new Delivery({ bus, wheel, log, watcher });
    this.#endpoints = new Endpoints(config, bus.isShared);
    this.#router = this.#openRouter(hostname);
    this.#webSockets = new WebSocketIngress({
      bus,
      delivery: this.#delivery,
      gate: this.#gate,
      meter,
      endpoints: this.#endpoints,
      base: this.#base,
      requestMs: config.timeouts.request,
      targetOf: (request) => this.#router.targetOf(request),
    });
    this.#server = this.#openServer();
  }

  #openRouter(hostname: string): Router {
    const { config } = this.#options;
    const isLocal = isLoopback(hostname);
    const {
      allowedHosts = isLocal
        ? [...loopbackNames, hostname, ...(config.publicUrl === undefined ? [] : [new URL(config.publicUrl).hostname])]
        : undefined,
      allowedOrigins,
    } = config.security;
    return new Router({
      ...this.#options,
      watcher: this.#options.watcher,
      site: this.#options.site,
      delivery: this.#delivery,
      gate: this.#gate,
      endpoints: this.#endpoints,
      base: this.#base,
      allowedHosts:
        allowedHosts === undefined || allowedHosts.includes('*')
          ? undefined
          : new Set(allowedHosts.map((host) => host.toLowerCase())),
      origins: { allowed: new Set(allowedOrigins), allowsLoopback: isLocal },
      writers: new Set(),
      nextStreamId: idSequence<StreamId>(newWorkerId('edge')),
    });
  }

  #openServer(): Server {
    const { config, metrics, tls, callers } = this.#options;
    return createClientServer({
      limits: config.limits,
      metrics,
      requestMs: config.timeouts.request,
      addresses: callers.addresses,
      maxFiles: maxOpenFiles(),
      tls: tls === undefined ? undefined : readTls(tls),
      handle: (request, response, waitsForContinue) => {
        if (this.#isLeaving) response.setHeader('connection', 'close');
        if (this.#base !== '') this.#enter(request);
        this.#router.handle(request, response, waitsForContinue);
      },
      handleUpgrade: (request, socket, head) => {
        if (this.#base !== '') this.#enter(request);
        this.#webSockets.handleUpgrade(request, socket, head);
      },
    });
  }

  /** From here on, the target of a request is as if the gateway stood at the root. */
  #enter(request: IncomingMessage): void {
    const { url = '/' } = request;
    const authority = /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? '';
    request.url = `${authority}${pathBelow(url.slice(authority.length), this.#base) ?? nowhere}`;
  }

  /**
   * Starts listening.
   * @returns the address of the endpoint, such as `http://127.0.0.1:7300/mcp`, or with https where it speaks TLS.
   * @throws {Error} that names the address, and says why it cannot be used.
   */
  async start(): Promise<string> {
    const { bus } = this.#options;
    if (bus.outlives) this.#router.keepStreams(await openStreamJournal(bus, this.#options.log));
    await this.#followTls();
    await this.#delivery.start();
    this.#server.listen(this.#port, this.#host.replace(/^\[|\]$/g, ''));
    try {
      await once(this.#server, 'listening');
    } catch (error) {
      throw new Error(listenProblem(error, this.#options.config.listen, '--listen'), { cause: error });
    }
    return `${this.#options.tls === undefined ? 'http' : 'https'}://${this.#host}:${(this.#server.address() as AddressInfo).port}${this.#base}/mcp`;
  }

  /** The name of this edge in its signs of life. */
  get worker(): WorkerId {
    return this.#delivery.self;
  }

  get sessionWorkers(): readonly WorkerId[] {
    return this.#delivery.sessionWorkers;
  }

  async #followTls(): Promise<void> {
    const { tls, log, metrics } = this.#options;
    if (tls === undefined) return;
    const clients =
      tls.clients === undefined ? undefined : new TlsClients(this.#server as SecureServer, String(readTls(tls).ca));
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#endTls = await followTls(tls, {
      changed: (options) => {
        (this.#server as SecureServer).setSecureContext(options);
        clients?.trust(String(options.ca));
        clients?.revoke([options.crl ?? []].flat().map(String));
        log.info({ certificate: tls.certFile }, 'new connections are shown the changed certificate');
      },
      rejected: (problem) => {
        metrics.tlsReloadsRefused.inc();
        log.error({ problem }, 'the changed files of TLS are not taken');
      },
    });
  }

  /** Connects a client within this process, such as the operator's console. @returns the fault if it is refused. */
  connectGuest(options: GuestOptions): Promise<Guest | { readonly fault: GatewayFault }> {
    const { bus, meter } = this.#options;
    return connectGuest(
      {
        bus,
        meter,
        delivery: this.#delivery,
        gate: this.#gate,
        endpoints: this.#endpoints,
      },
      options,
    );
  }

  /** Applies a changed configuration. At an edge, only endpoints and rules change without a restart. */
  apply(config: Config): void {
    this.#endpoints.apply(config);
    this.#options.callers.apply(config);
  }

  /**
   * Goes on serving, but closes each connection after its next response, so that clients connect elsewhere and no request meets a connection
   * that was just closed. Resolves after `timeouts.leave`, once no request waits for its answer.
   * @param limitMs milliseconds for which answers are awaited after that at most.
   * @param leastMs milliseconds that it serves at least, where `timeouts.leave` is shorter.
   */
  async leave(limitMs: number, leastMs = 0): Promise<void> {
    this.#isLeaving = true;
    const {
      wheel,
      config: { timeouts },
    } = this.#options;
    const pause = (ms: number): Promise<void> => new Promise((resolve) => void wheel.schedule(ms, resolve));
    await pause(Math.max(timeouts.leave, leastMs));
    const endsAt = performance.now() + limitMs;
    for (let isQuiet = false; !isQuiet && performance.now() < endsAt; isQuiet = this.#delivery.asked === 0) {
      await this.#delivery.drained(endsAt - performance.now());
      await pause(flushMs);
    }
  }

  /** Refuses new sessions and connections; open ones go on. */
  drain(): void {
    this.#router.drain();
    this.#webSockets.drain();
    this.#server.close();
    this.#server.closeIdleConnections();
  }

  async stop(): Promise<void> {
    this.#delivery.stop();
    this.drain();
    this.#webSockets.stop();
    this.#server.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
    await this.#endTls?.();
  }
}

function gateOf({ config: { limits }, log, metrics, callers }: EdgeOptions): Gate {
  return {
    boundary: new Boundary(log, new Faults({ log, metrics })),
    callers,
    rate: new OpeningRate({ burst: limits.sessionBurst, perSecond: limits.sessionsPerSecond }),
    bodies: new ByteBudget({ maxTotal: limits.maxPendingBodyBytes, maxShare: limits.maxPendingBodyBytesPerAddress }),
    unread: new Unread({ maxTotal: limits.maxUnreadBytes, maxShare: limits.maxUnreadBytesPerAddress, metrics }),
    metrics,
    limits,
  };
}
