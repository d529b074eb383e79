/**
 * The checks of an HTTP request, in order, each cheaper than those after it: target, host, origin, path, authentication, method, media types,
 * codings, declared length, session header, revision header, body size, JSON, envelope; then the bus.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Journal } from '@omnibus/bus';
import {
  anonymous,
  fault,
  type EndpointName,
  type GatewayFault,
  type StreamEntry,
  type StreamId,
} from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Endpoints } from '../requests/endpoints.ts';
import { SessionAddresses } from '../delivery/session-addresses.ts';
import { Arrival, withAddress } from './arrival.ts';
import { allowOrigin, answerPreflight } from './cors.ts';
import { EventSourceEndpoint, findEventSource, type EventSourceOptions, type EventSourcePath } from './event-source.ts';
import type { EventWriter, EventWriterOptions } from './event-writer.ts';
import type { Gatekeeper } from '../callers/gatekeeper.ts';
import type { Site } from './site.ts';
import { PostEndpoint } from './post.ts';
import { GetEndpoint } from './get.ts';
import { checkHost } from './steps/check-host.ts';
import { checkOrigin, type OriginRule } from './steps/check-origin.ts';
import { findEndpoint } from '../requests/find-endpoint.ts';
import { readTarget, type Target } from './steps/read-target.ts';

export interface RouterOptions extends EventSourceOptions {
  /** Undefined where callers are not authenticated. */
  readonly gatekeeper: Gatekeeper | undefined;
  /** Pages besides the endpoints, such as those of the gateway's own authorization server; undefined where there are none. */
  readonly site: Site | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly allowedHosts: ReadonlySet<string> | undefined;
  readonly origins: OriginRule;
  readonly nextStreamId: () => StreamId;
  readonly endpoints: Endpoints;
  /** The open event streams. */
  readonly writers: Set<EventWriter>;
  /** The journal of streams that clients may resume; undefined where nothing outlives the process. */
  readonly streams: () => Journal<StreamEntry> | undefined;
}

export class Router {
  readonly #options: RouterOptions;
  readonly #posts: PostEndpoint;
  readonly #gets: GetEndpoint;
  readonly #eventSource: EventSourceEndpoint;
  /** The same answer for an endpoint of another tenant as for one that does not exist. */
  readonly #noSuchPath: GatewayFault;
  #isDraining = false;

  constructor(options: RouterOptions) {
    this.#options = options;
    const { gate, metrics, writers, base } = options;
    this.#noSuchPath = fault(
      'http.path_unknown',
      `endpoints are ${base}/mcp, ${base}/mcp/<server> and ${base}/mcp/<profile>`,
    );
    const writing: EventWriterOptions = {
      wheel: options.wheel,
      maxBufferedBytes: gate.limits.maxBufferedBytes,
      unread: gate.unread,
      open: writers,
    };
    const sessions = new SessionAddresses();
    this.#posts = new PostEndpoint({ ...options, sessions, writing, isDraining: () => this.#isDraining });
    this.#gets = new GetEndpoint({ ...options, sessions, writing });
    this.#eventSource = new EventSourceEndpoint(options, writing);
    metrics.beforeScrape(() => {
      metrics.inFlight.set(options.delivery.waiting);
      let buffered = 0;
      for (const writer of writers) buffered += writer.bufferedBytes;
      metrics.bufferedBytes.set(buffered);
      metrics.unreadBytes.set(gate.unread.bytes);
      metrics.bodyBytes.set(gate.bodies.used);
    });
  }

  /** Refuses new sessions from now on; requests of existing sessions are still served. */
  drain(): void {
    this.#isDraining = true;
  }

  /** The target of a request, or why it is refused by its target, Host or Origin. */
  targetOf(request: IncomingMessage): Target | { readonly fault: GatewayFault } {
    const target = readTarget(request);
    if ('fault' in target) return target;
    const { allowedHosts, origins } = this.#options;
    const forbidden = checkHost(target.host, allowedHosts) ?? checkOrigin(request, origins);
    return forbidden === undefined ? target : { fault: forbidden };
  }

  /** Handles a request. @param waitsForContinue whether the client waits for `100 Continue` (RFC 9110, 10.1.1). */
  handle(request: IncomingMessage, response: ServerResponse, waitsForContinue: boolean): void {
    const arrivalAt = (endpoint: string): Arrival => {
      const caller = withAddress(
        { principal: anonymous, endpoint: endpoint as EndpointName },
        request,
        this.#options.gate,
      );
      return new Arrival(request, response, caller, this.#options.gate, waitsForContinue);
    };
    if (this.#servesSite(request, response, arrivalAt)) return;
    const target = this.targetOf(request);
    if ('fault' in target) {
      arrivalAt('').refuse(target.fault);
      return;
    }
    allowOrigin(request, response);
    const endpoint = findEndpoint(target.path);
    const eventSource = endpoint === undefined ? findEventSource(target.path) : undefined;
    const name = endpoint ?? eventSource?.endpoint;
    const arrival = arrivalAt(name ?? '');
    const document =
      name === undefined
        ? this.#options.gatekeeper?.documentAt(target.path, (each) => this.#options.endpoints.has(each))
        : undefined;
    if (document !== undefined) arrival.run(() => serveDocument(arrival, document));
    else if (name === undefined || !this.#options.endpoints.has(name)) arrival.refuse(this.#noSuchPath);
    else this.#whenKnown(arrival, target.path, eventSource);
  }

  /** Serves a page of the site, to the origins that the site itself allows, and only for an allowed Host. */
  #servesSite(request: IncomingMessage, response: ServerResponse, arrivalAt: (endpoint: string) => Arrival): boolean {
    const { site, allowedHosts } = this.#options;
    if (site === undefined) return false;
    const target = readTarget(request);
    if ('fault' in target || !site.handles(target.path)) return false;
    const forbidden = checkHost(target.host, allowedHosts);
    const arrival = arrivalAt('');
    if (forbidden !== undefined) arrival.refuse(forbidden);
    else arrival.run(() => site.handle(request, response, arrival.address()));
    return true;
  }

  /** Goes on once the request is authenticated. The preflight request of a browser has no credentials and needs none. */
  #whenKnown(arrival: Arrival, path: string, eventSource: EventSourcePath | undefined): void {
    const { gatekeeper } = this.#options;
    const {
      request,
      response,
      caller: { endpoint },
    } = arrival;
    arrival.run(() => {
      if (gatekeeper === undefined) this.#handleFor(undefined, arrival, eventSource);
      else if (request.method === 'OPTIONS') this.#handleKnown(arrival, eventSource);
      else
        gatekeeper.ask(request, path, endpoint, arrival, (verdict) => {
          if ('fault' in verdict) {
            response.setHeader('www-authenticate', gatekeeper.challenge(verdict.fault, path));
            arrival.refuse(verdict.fault);
          } else {
            arrival.identify(verdict);
            this.#handleFor(verdict.tenant, arrival, eventSource);
          }
        });
    });
  }

  /** Handles a request if its endpoint is for callers of a tenant. */
  #handleFor(tenant: string | undefined, arrival: Arrival, eventSource: EventSourcePath | undefined): void {
    if (this.#options.endpoints.isFor(arrival.caller.endpoint, tenant)) this.#handleKnown(arrival, eventSource);
    else arrival.refuse(this.#noSuchPath);
  }

  #handleKnown(arrival: Arrival, eventSource: EventSourcePath | undefined): void {
    if (eventSource === undefined) this.#handleEndpoint(arrival);
    else this.#handleEventSource(arrival, eventSource);
  }

  #handleEndpoint(arrival: Arrival): void {
    switch (arrival.request.method) {
      case 'POST':
        this.#posts.receive(arrival);
        return;
      case 'GET':
        this.#gets.open(arrival);
        return;
      case 'DELETE':
        this.#gets.delete(arrival);
        return;
      case 'OPTIONS':
        answerPreflight(arrival.response);
        return;
      default:
        arrival.response.setHeader('allow', 'POST, GET, DELETE, OPTIONS');
        arrival.refuse(fault('http.method_not_allowed'));
    }
  }

  /** Handles HTTP+SSE of 2024-11-05, to which newer clients fall back when a POST to its address is refused. */
  #handleEventSource(arrival: Arrival, path: EventSourcePath): void {
    const { request, response } = arrival;
    const expected = path.kind === 'stream' ? 'GET' : 'POST';
    if (request.method === 'OPTIONS') {
      answerPreflight(response);
    } else if (request.method !== expected) {
      response.setHeader('allow', `${expected}, OPTIONS`);
      arrival.refuse(fault('http.method_not_allowed', `this address takes ${expected}`));
    } else if (path.kind === 'post') {
      this.#eventSource.post(arrival, path.key);
    } else if (this.#isDraining) {
      arrival.refuse(fault('gateway.draining'));
    } else {
      this.#eventSource.open(arrival);
    }
  }
}

/** Serves a metadata document, which needs no authentication. */
function serveDocument(arrival: Arrival, document: string | Promise<string>): void {
  const { request, response } = arrival;
  const { method } = request;
  if (method === 'OPTIONS') {
    answerPreflight(response);
  } else if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD, OPTIONS');
    arrival.refuse(fault('http.method_not_allowed', 'this address takes GET'));
  } else {
    // The answer to a request without Origin differs from that to a page, which a cache has to know before a page asks.
    const headers = { 'cache-control': 'max-age=300', vary: 'origin' };
    if (typeof document === 'string') arrival.json(200, document, headers);
    else
      document.then(
        (text) => arrival.json(200, text, headers),
        (error: unknown) => arrival.refuse(fault('auth.unavailable', (error as Error).message)),
      );
  }
}
