/** The HTTP side of the gateway. */
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import type { Audit } from '@omnibus/audit';
import { openStreamJournal, type Blocks, type Bus, type Journal } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { followTls, readTls, type Authenticator, type Proofs, type TlsFiles } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { idSequence, newWorkerId, type GatewayFault, type StreamEntry, type StreamId, type WorkerId } from '@omnibus/protocol';
import { Faults, type Logger, type Metrics } from '@omnibus/telemetry';
import { welcome, type Guest, type GuestOptions } from './http/guest.ts';
import { Boundary } from './requests/boundary.ts';
import { ByteBudget } from './bounds/byte-budget.ts';
import { ClientAddresses } from './callers/client-address.ts';
import { Endpoints } from './requests/endpoints.ts';
import type { Gate } from './http/arrival.ts';
import type { Site } from './http/site.ts';
import { Gatekeeper } from './callers/gatekeeper.ts';
import { Router } from './http/router.ts';
import { ResourceMetadata } from './callers/resource-metadata.ts';
import { createClientServer } from './http/server.ts';
import { maxOpenFiles } from './bounds/open-files.ts';
import { OpeningRate } from './bounds/opening-rate.ts';
import { EdgeRecords } from './requests/records.ts';
import type { RequestMeter } from './requests/request-meter.ts';
import { Delivery } from './delivery/delivery.ts';
import { Tenures } from './callers/tenures.ts';
import { Unread } from './bounds/unread.ts';
import { WebSocketIngress } from './http/websocket/ingress.ts';
import { loopbackNames } from './http/steps/check-host.ts';

/** An answer that was written is with its client by then, or with the network between them. */
const flushMs = 50;

export interface EdgeOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly meter: RequestMeter;
  /** Undefined where clients speak without TLS. */
  readonly tls?: TlsFiles | undefined;
  /** Undefined where callers need not be known. */
  readonly authenticator?: Authenticator | undefined;
  /** Undefined where callers need not be known: nobody can be told from anybody else. */
  readonly blocks?: Blocks | undefined;
  /** Our own authorization server; undefined where there is none. */
  readonly site?: Site | undefined;
  /** Sign what is said of callers on the bus; undefined in one process, where nobody else is on it. */
  readonly proofs?: Proofs | undefined;
  /** Undefined where nothing is put on record. */
  readonly audit?: Audit | undefined;
}

export class Edge {
  readonly #options: EdgeOptions;
  readonly #server: Server;
  readonly #delivery: Delivery;
  readonly #router: Router;
  readonly #webSockets: WebSocketIngress;
  readonly #endpoints: Endpoints;
  readonly #host: string;
  readonly #port: number;
  #streams: Journal<StreamEntry> | undefined;
  #endTls: (() => Promise<void>) | undefined;
  /** Connections over TLS: the server's own list lacks those that are in the middle of their handshake. */
  readonly #sockets = new Set<Socket>();
  readonly #gate: Gate;
  readonly #gatekeeper: Gatekeeper | undefined;
  #isLeaving = false;

  constructor(options: EdgeOptions) {
    this.#options = options;
    const { config, bus, wheel, log, metrics, meter, authenticator, site } = options;
    const { hostname, port } = new URL(`http://${config.listen}`);
    this.#host = hostname;
    this.#port = Number(port || 80);
    const isLoopback = loopbackNames.includes(hostname);
    const { allowedHosts = isLoopback ? loopbackNames : undefined, allowedOrigins } = config.security;
    const gate = gateOf(options);
    this.#gate = gate;
    const records = options.audit === undefined ? undefined : new EdgeRecords(options.audit, (request) => gate.addresses.of(request));
    this.#delivery = new Delivery({ bus, wheel, log, interrupted: records?.lost });
    const gatekeeper = authenticator === undefined ? undefined : new Gatekeeper({ authenticator, addresses: gate.addresses, blocks: options.blocks, metadata: metadataOf(config), refused: records?.strange });
    this.#gatekeeper = gatekeeper;
    authenticator?.onRevoked(() => gate.tenures.review());
    options.blocks?.onChanged(() => gate.tenures.review());
    const endpoints = new Endpoints(config, bus.isShared);
    this.#endpoints = endpoints;
    this.#router = new Router({
      delivery: this.#delivery,
      bus, wheel, log, metrics, meter, gate, gatekeeper, endpoints, site,
      allowedHosts: allowedHosts === undefined || allowedHosts.includes('*') ? undefined : new Set(allowedHosts.map((host) => host.toLowerCase())),
      origins: { allowed: new Set(allowedOrigins), allowsLoopback: isLoopback },
      writers: new Set(),
      streams: () => this.#streams,
      nextStreamId: idSequence<StreamId>(newWorkerId('edge')),
    });
    this.#webSockets = new WebSocketIngress({ bus, delivery: this.#delivery, gate, gatekeeper, meter, endpoints, requestMs: config.timeouts.request, targetOf: (request) => this.#router.targetOf(request) });
    this.#server = createClientServer({
      limits: config.limits, metrics,
      requestMs: config.timeouts.request,
      addresses: gate.addresses,
      maxFiles: maxOpenFiles(),
      tls: options.tls === undefined ? undefined : readTls(options.tls),
      handle: (request, response, waitsForContinue) => {
        if (this.#isLeaving) response.setHeader('connection', 'close');
        this.#router.handle(request, response, waitsForContinue);
      },
      handleUpgrade: this.#webSockets.handleUpgrade,
    });
  }

  /**
   * Begins to listen.
   * @returns the address of the endpoint, such as `http://127.0.0.1:7300/mcp`, or with https where it speaks TLS.
   * @throws {Error} naming the address when it is taken.
   */
  async start(): Promise<string> {
    const { bus } = this.#options;
    if (bus.isShared) this.#streams = await openStreamJournal(bus, this.#options.log);
    await this.#followTls();
    await this.#delivery.start();
    this.#server.listen(this.#port, this.#host.replace(/^\[|\]$/g, ''));
    try {
      await once(this.#server, 'listening');
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      throw new Error(isTaken ? `${this.#options.config.listen} is in use; choose another address with --listen` : String(error), { cause: error });
    }
    return `${this.#options.tls === undefined ? 'http' : 'https'}://${this.#host}:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /** What its signs of life name it. */
  get worker(): WorkerId {
    return this.#delivery.self;
  }

  /** Session workers that are there or may be. */
  get sessionWorkers(): readonly WorkerId[] {
    return this.#delivery.sessionWorkers;
  }

  async #followTls(): Promise<void> {
    const { tls, log, metrics } = this.#options;
    if (tls === undefined) return;
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#endTls = await followTls(tls, {
      changed: (options) => {
        (this.#server as SecureServer).setSecureContext(options);
        log.info({ certificate: tls.certFile }, 'new connections are shown the changed certificate');
      },
      rejected: (problem) => {
        metrics.tlsReloadsRefused.inc();
        log.error({ problem }, 'the changed files of TLS are not taken');
      },
    });
  }

  /** Lets a client of this process in, such as the page of whoever runs it. @returns why not, where it is not let in. */
  welcome(options: GuestOptions): Promise<Guest | { readonly fault: GatewayFault }> {
    const { bus, meter } = this.#options;
    return welcome({ bus, meter, delivery: this.#delivery, gate: this.#gate, gatekeeper: this.#gatekeeper, endpoints: this.#endpoints }, options);
  }

  /** Follows a changed configuration: of what an edge has of it, only endpoints and rules change without a restart. */
  apply(config: Config): void {
    this.#endpoints.apply(config);
    this.#gate.rules.askForNetworks = askForNetworks(config);
  }

  /**
   * Serves on, but sends clients away: whoever asked something opens the next connection elsewhere, and no request meets a
   * connection that was just closed. Resolves after `timeouts.leave`, when nobody waits for an answer any more.
   * @param limitMs how long after that answers are waited for at most.
   */
  async leave(limitMs: number): Promise<void> {
    this.#isLeaving = true;
    const { wheel, config: { timeouts } } = this.#options;
    const pause = (ms: number): Promise<void> => new Promise((resolve) => void wheel.schedule(ms, resolve));
    await pause(timeouts.leave);
    const endsAt = performance.now() + limitMs;
    for (let isQuiet = false; !isQuiet && performance.now() < endsAt; isQuiet = this.#delivery.asked === 0) {
      await this.#delivery.drained(endsAt - performance.now());
      await pause(flushMs);
    }
  }

  /** Refuses new sessions and connections; what runs goes on. */
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
    if (this.#server.listening) await once(this.#server, 'close');
  }
}

/** Undefined where nobody gives tokens. */
function metadataOf({ auth, publicUrl }: Config): ResourceMetadata | undefined {
  if (auth === undefined || auth === 'none' || publicUrl === undefined) return undefined;
  const issuers = [...(auth.server === undefined ? [] : [publicUrl]), ...auth.issuers.map(({ issuer }) => issuer)];
  return issuers.length === 0 ? undefined : new ResourceMetadata({ publicUrl, issuers, scopes: auth.scopes });
}

const askForNetworks = ({ access }: Config): boolean => access?.rules.some(({ network }) => network !== undefined) === true;

function gateOf({ config, wheel, log, metrics, authenticator, blocks, proofs }: EdgeOptions): Gate {
  const { listen, limits, security } = config;
  return {
    boundary: new Boundary(log, new Faults({ log, metrics })),
    addresses: new ClientAddresses(security.trustedProxies, loopbackNames.includes(new URL(`http://${listen}`).hostname)),
    rate: new OpeningRate({ burst: limits.sessionBurst, perSecond: limits.sessionsPerSecond }),
    bodies: new ByteBudget({ maxTotal: limits.maxPendingBodyBytes, maxShare: limits.maxPendingBodyBytesPerAddress }),
    unread: new Unread({ maxTotal: limits.maxUnreadBytes, maxShare: limits.maxUnreadBytesPerAddress, metrics }),
    tenures: new Tenures(wheel, (facts) => (authenticator?.holds(facts) ?? true) && blocks?.callerProblem(facts) === undefined),
    proofs: authenticator === undefined ? undefined : proofs,
    rules: { askForNetworks: askForNetworks(config) },
    metrics,
    limits,
  };
}
