/**
 * The checks of an HTTP request, in order, each cheaper than those after it: target, host, origin, path, sender, method, media types,
 * codings, declared length, session header, revision header, body size, JSON, envelope; then the bus.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Journal } from '@omnibus/bus';
import { fault, type EndpointName, type GatewayFault, type StreamEntry, type StreamId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { nonceIn, type Verdict } from '../callers/callers.ts';
import { findEndpoint, type Endpoints } from '../requests/endpoints.ts';
import { SessionAddresses } from '../delivery/session-addresses.ts';
import { Arrival } from './arrival.ts';
import { allowOrigin, answerPreflight } from './cors.ts';
import { EventSourceEndpoint, findEventSource, type EventSourceOptions, type EventSourcePath } from './event-source.ts';
import type { EventWriter, EventWriterOptions } from './event-writer.ts';
import type { Site } from './site.ts';
import { PostEndpoint } from './post.ts';
import { GetEndpoint } from './get.ts';
import { checkHost, checkOrigin, readTarget, type OriginRule, type Target } from './target.ts';

export interface RouterOptions extends EventSourceOptions {
  /** Pages other than the endpoints, such as those of the gateway's own authorization server; undefined where there are none. */
  readonly site: Site | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly allowedHosts: ReadonlySet<string> | undefined;
  readonly origins: OriginRule;
  readonly nextStreamId: () => StreamId;
  readonly endpoints: Endpoints;
  /** The open event streams. */
  readonly writers: Set<EventWriter>;
}

export class Router {
  readonly #options: RouterOptions;
  readonly #posts: PostEndpoint;
  readonly #gets: GetEndpoint;
  readonly #eventSource: EventSourceEndpoint;
  /** The same answer for an endpoint of another tenant as for one that does not exist. */
  readonly #noSuchPath: GatewayFault;
  /** The Host that was allowed last: nearly all requests name the same one. */
  #allowedHost: string | undefined;
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
    this.#posts = new PostEndpoint({ ...options, sessions, writing });
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

  /** Opens streams that clients may resume, from now on. Without it, nothing outlives the process. */
  keepStreams(journal: Journal<StreamEntry> | undefined): void {
    this.#posts.keepStreams(journal);
  }

  /** Refuses new sessions from now on; requests of existing sessions are still served. */
  drain(): void {
    this.#isDraining = true;
    this.#posts.drain();
  }

  /** The target of a request, or why it is refused by its target, Host or Origin. */
  targetOf(request: IncomingMessage): Target | { readonly fault: GatewayFault } {
    const target = readTarget(request);
    const forbidden = 'fault' in target ? target.fault : this.#problemOf(target, request);
    return forbidden === undefined ? (target as Target) : { fault: forbidden };
  }

  #problemOf({ host }: Target, request: IncomingMessage): GatewayFault | undefined {
    const { allowedHosts, origins } = this.#options;
    if (host === undefined || host !== this.#allowedHost) {
      const forbidden = checkHost(host, allowedHosts);
      if (forbidden !== undefined) return forbidden;
      this.#allowedHost = host;
    }
    return request.headers.origin === undefined ? undefined : checkOrigin(request.headers.origin, origins);
  }

  /** Handles a request. @param waitsForContinue whether the client waits for `100 Continue` (RFC 9110, 10.1.1). */
  handle(request: IncomingMessage, response: ServerResponse, waitsForContinue: boolean): void {
    const arrival = new Arrival(request, response, this.#options.gate, waitsForContinue);
    try {
      const target = readTarget(request);
      if ('fault' in target) {
        arrival.refuse(target.fault);
        return;
      }
      const { site, endpoints } = this.#options;
      const known = endpoints.byPath.get(target.path);
      const endpoint = known ?? findEndpoint(target.path);
      if (endpoint === undefined && site?.handles(target.path) === true) this.#serveSite(site, arrival, target);
      else this.#receive(arrival, target, endpoint, known !== undefined);
    } catch (error) {
      arrival.failed(error);
    }
  }

  /** Serves a page of the site, to the origins that the site itself allows, and only for an allowed Host. */
  #serveSite(site: Site, arrival: Arrival, { host, path }: Target): void {
    const forbidden = checkHost(host, this.#options.allowedHosts);
    if (forbidden !== undefined) {
      arrival.refuse(forbidden);
      return;
    }
    // Its target may be a whole address, and pages know their paths.
    arrival.request.url = path;
    site.handle(arrival.request, arrival.response, arrival.address());
  }

  /** @param endpoint undefined for a path that is not that of an endpoint. @param isThere whether the endpoint is known to be there. */
  #receive(arrival: Arrival, target: Target, endpoint: EndpointName | undefined, isThere: boolean): void {
    const { request, response } = arrival;
    const { gate, endpoints } = this.#options;
    const forbidden = this.#problemOf(target, request);
    if (forbidden !== undefined) {
      arrival.refuse(forbidden);
      return;
    }
    if (request.headers.origin !== undefined) allowOrigin(request, response);
    const { path } = target;
    const eventSource = endpoint === undefined ? findEventSource(path) : undefined;
    const name = endpoint ?? eventSource?.endpoint;
    if (name === undefined) {
      const document = gate.callers.documentAt(path, (each) => endpoints.has(each));
      if (document === undefined) arrival.refuse(this.#noSuchPath);
      else serveDocument(arrival, document);
    } else if (!isThere && !endpoints.has(name)) {
      arrival.refuse(this.#noSuchPath);
    } else if (request.method === 'OPTIONS') {
      // The preflight request of a browser has no credentials and needs none.
      answerPreflight(response);
    } else {
      const verdict = gate.callers.admit(request, path, name);
      if (!(verdict instanceof Promise)) this.#serve(arrival, path, eventSource, verdict);
      else
        verdict
          .then((found) => {
            if (!request.socket.destroyed) this.#serve(arrival, path, eventSource, found);
          })
          .catch((error: unknown) => arrival.failed(error));
    }
  }

  /** Serves a request if its sender is admitted, and its endpoint is for them. */
  #serve(arrival: Arrival, path: string, eventSource: EventSourcePath | undefined, verdict: Verdict): void {
    if ('fault' in verdict) {
      const challenge = this.#options.gate.callers.challenge(verdict.fault, path);
      if (challenge !== undefined) arrival.response.setHeader('www-authenticate', challenge);
      const nonce = nonceIn(verdict.fault);
      if (nonce !== undefined) arrival.response.setHeader('dpop-nonce', nonce);
      arrival.refuse(verdict.fault);
      return;
    }
    const { endpoints } = this.#options;
    if (endpoints.areForSome && !endpoints.isFor(verdict.caller.endpoint, verdict.tenant)) {
      arrival.refuse(this.#noSuchPath);
      return;
    }
    arrival.sender = verdict;
    if (eventSource !== undefined) {
      this.#serveEventSource(arrival, eventSource);
      return;
    }
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
      default:
        arrival.response.setHeader('allow', 'POST, GET, DELETE, OPTIONS');
        arrival.refuse(fault('http.method_not_allowed'));
    }
  }

  /** Serves HTTP+SSE of 2024-11-05, to which newer clients fall back when a POST to its address is refused. */
  #serveEventSource(arrival: Arrival, path: EventSourcePath): void {
    const { request, response } = arrival;
    const expected = path.kind === 'stream' ? 'GET' : 'POST';
    if (request.method !== expected) {
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
    // The answer to a request without Origin differs from that to a page, which a cache must know before a page asks.
    const headers = { 'cache-control': 'max-age=300', vary: 'origin' };
    if (typeof document === 'string') arrival.json(200, document, headers);
    else
      document.then(
        (text) => arrival.json(200, text, headers),
        (error: unknown) => arrival.refuse(fault('auth.unavailable', (error as Error).message)),
      );
  }
}
