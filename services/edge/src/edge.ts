/** The HTTP side of the gateway. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { openStreamJournal, type Bus, type Journal } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { idSequence, newWorkerId, type StreamEntry, type StreamId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { Pipeline } from './http/pipeline.ts';
import type { RequestMeter } from './request-meter.ts';
import { SessionDoor } from './session-door.ts';
import { WebSocketIngress } from './websocket/ingress.ts';
import { loopbackNames } from './http/steps/check-host.ts';

export interface EdgeOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly meter: RequestMeter;
}

/** Longer than load balancers keep an idle connection, so that it is never us who closes it under a request. */
const keepAliveTimeoutMs = 75_000;

export class Edge {
  readonly #options: EdgeOptions;
  readonly #server: Server;
  readonly #door: SessionDoor;
  readonly #pipeline: Pipeline;
  readonly #webSockets: WebSocketIngress;
  readonly #host: string;
  readonly #port: number;
  #streams: Journal<StreamEntry> | undefined;
  #isLeaving = false;

  constructor(options: EdgeOptions) {
    this.#options = options;
    const { config, bus, wheel, log, metrics, meter } = options;
    const { hostname, port } = new URL(`http://${config.listen}`);
    this.#host = hostname;
    this.#port = Number(port || 80);
    const isLoopback = loopbackNames.includes(hostname);
    const { allowedHosts = isLoopback ? loopbackNames : undefined, allowedOrigins } = config.security;
    this.#door = new SessionDoor(bus, wheel, log);
    this.#pipeline = new Pipeline({
      door: this.#door,
      bus, wheel, log, metrics, meter,
      limits: config.limits,
      allowedHosts: allowedHosts === undefined || allowedHosts.includes('*') ? undefined : new Set(allowedHosts.map((host) => host.toLowerCase())),
      origins: { allowed: new Set(allowedOrigins), allowsLoopback: isLoopback },
      writers: new Set(),
      streams: () => this.#streams,
      nextStreamId: idSequence<StreamId>(newWorkerId('edge')),
    });
    this.#webSockets = new WebSocketIngress({ bus, door: this.#door, limits: config.limits, metrics, meter, check: (request) => this.#pipeline.forbids(request) });
    this.#server = createServer({ maxHeaderSize: config.limits.maxHeaderBytes, keepAliveTimeout: keepAliveTimeoutMs }, (request, response) => {
      if (this.#isLeaving) response.setHeader('connection', 'close');
      this.#pipeline.handle(request, response);
    });
    this.#server.on('upgrade', this.#webSockets.handleUpgrade);
  }

  /**
   * Begins to listen.
   * @returns the address of the endpoint, such as `http://127.0.0.1:7300/mcp`.
   * @throws {Error} naming the address when it is taken.
   */
  async start(): Promise<string> {
    const { bus } = this.#options;
    if (bus.isShared) this.#streams = await openStreamJournal(bus, this.#options.log);
    await this.#door.start();
    this.#server.listen(this.#port, this.#host.replace(/^\[|\]$/g, ''));
    try {
      await once(this.#server, 'listening');
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      throw new Error(isTaken ? `${this.#options.config.listen} is in use; choose another address with --listen` : String(error), { cause: error });
    }
    return `http://${this.#host}:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /**
   * Serves on, but sends clients away: whoever asked something opens the next connection elsewhere, and no request meets a
   * connection that was just closed. Resolves after `timeouts.leave`.
   */
  leave(): Promise<void> {
    this.#isLeaving = true;
    const { wheel, config } = this.#options;
    return new Promise((resolve) => void wheel.schedule(config.timeouts.leave, resolve));
  }

  /** Refuses new sessions and connections; what runs goes on. */
  drain(): void {
    this.#pipeline.drain();
    this.#server.close();
    this.#server.closeIdleConnections();
  }

  async stop(): Promise<void> {
    this.#door.stop();
    this.drain();
    this.#webSockets.stop();
    this.#server.closeAllConnections();
    if (this.#server.listening) await once(this.#server, 'close');
  }
}
