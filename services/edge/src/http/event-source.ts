/**
 * HTTP+SSE, the transport of 2024-11-05 (basic/transports): a GET opens the stream; its first event names the address for POSTs; every answer
 * comes on the stream. The POSTs of one client may reach any edge, which passes them to the edge that holds the stream.
 */
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault,
  isSessionId,
  newSessionId,
  ownLimitHeader,
  sessionKey,
  listingHeader,
  withOwnLimit,
  withOwnListing,
  type Caller,
  type EndpointName,
  type GatewayFault,
  type InboxPost,
  type InboxReply,
  type SessionId,
  type SessionKey,
  type StreamId,
} from '@omnibus/protocol';
import type { EdgeWatcher } from '../requests/edge-watcher.ts';
import type { RequestMeter } from '../requests/request-meter.ts';
import { DuplexClient } from '../duplex/duplex-client.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { findEndpoint } from '../requests/endpoints.ts';
import { parseMessage } from '../requests/parse-message.ts';
import type { Arrival, Gate } from './arrival.ts';
import { EventWriter, type EventWriterOptions } from './event-writer.ts';
import { checkBodyHeaders } from './media.ts';

export interface EventSourceOptions {
  readonly bus: Bus;
  readonly delivery: Delivery;
  readonly wheel: DeadlineWheel;
  readonly gate: Gate;
  readonly meter: RequestMeter;
  /** The path below which the gateway stands; empty where it stands at the root. */
  readonly base: string;
  readonly watcher: EdgeWatcher | undefined;
}

const streamPath = '/sse';
const postPath = '/messages';
const keyParameter = 'sessionId';
const accepted = 'Accepted';
/** Milliseconds that the edge which holds the stream must confirm a message. */
const takeMs = 5_000;

export class EventSourceEndpoint {
  readonly #options: EventSourceOptions;
  readonly #writing: EventWriterOptions;

  constructor(options: EventSourceOptions, writing: EventWriterOptions) {
    this.#options = options;
    this.#writing = writing;
  }

  /** Opens a stream. The session begins with the `initialize` that is posted to it. */
  open(arrival: Arrival): void {
    const { bus, gate } = this.#options;
    const { response } = arrival;
    const key = newSessionId();
    let client: DuplexClient | undefined;
    let subscription: Subscription | undefined;
    response.once('close', () => {
      subscription?.close();
      if (client === undefined) return;
      gate.metrics.streams.dec();
      void client.end();
    });
    bus
      .subscribe(subjects.edgeInbox(sessionKey(key)), (post, reply) => {
        const refused = this.#problemOf(post, sessionKey(key), arrival.sender.caller);
        if (refused === undefined && client !== undefined) this.#take(post, client, reply);
        else reply({ kind: 'refused', fault: refused ?? fault('session.unknown') });
      })
      .then(
        (opened) =>
          arrival.run(() => {
            subscription = opened;
            if (response.destroyed) opened.close();
            else client = this.#clientOn(arrival, key);
          }),
        (error: unknown) => arrival.failed(error),
      );
  }

  /** Why a stream does not take a message: its sender is not the one that the stream is of, or an edge has not proven the sender. */
  #problemOf(post: InboxPost, key: SessionKey, owner: Caller): GatewayFault | undefined {
    const { gate, watcher } = this.#options;
    const isTheirs = post.caller.principal === owner.principal && post.caller.endpoint === owner.endpoint;
    const unproven = gate.callers.problemOf(post.caller);
    if (isTheirs && unproven === undefined) return undefined;
    const unknown = fault('session.unknown');
    watcher?.turnedAway?.(post, key, unproven ?? unknown);
    return unknown;
  }

  #take(post: InboxPost, client: DuplexClient, reply: (answer: InboxReply) => void): void {
    reply({ kind: 'accepted' });
    client.comesFrom(post.caller);
    client.receive(
      post.kind === 'post'
        ? { kind: 'single', message: post.message }
        : { kind: 'batch', messages: post.messages, refusals: post.refusals },
      post.bytes,
    );
  }

  /** Begins the stream of a client with the address for its POSTs. */
  #clientOn(arrival: Arrival, key: SessionId): DuplexClient {
    const { bus, delivery, meter, gate, base } = this.#options;
    const { request, sender } = arrival;
    const { endpoint } = sender.caller;
    const writer = new EventWriter(arrival, { id: 'sse' as StreamId, isPrimed: false }, this.#writing);
    gate.metrics.streams.inc();
    arrival.whenUnproven(() => writer.end());
    const client = new DuplexClient({
      bus,
      delivery,
      limits: gate.limits,
      caller: sender.byOrigin(request),
      meter,
      carrier: 'http',
      boundary: gate.boundary,
      rate: gate.rate,
      bodies: gate.bodies,
      address: arrival.address(),
      write: (text) => writer.message(text, undefined),
      ended: () => writer.end(),
    });
    writer.event('endpoint', `${base}${postPath}${endpoint === '' ? '' : `/${endpoint}`}?${keyParameter}=${key}`);
    return client;
  }

  /** Handles a POST of a message for a stream. */
  post(arrival: Arrival, key: string): void {
    const { limits } = this.#options.gate;
    const problem =
      checkBodyHeaders(arrival.request.headers, limits.maxBodyBytes) ??
      (isSessionId(key) ? undefined : fault('session.unknown'));
    if (problem !== undefined) {
      arrival.refuse(problem);
      return;
    }
    arrival.readBody((body) => {
      const {
        sender: { caller },
        request: { headers },
      } = arrival;
      const parsed = parseMessage(body, limits);
      if (parsed.kind === 'refused') arrival.refuse(parsed.fault, parsed.id);
      else
        this.#pass(
          arrival,
          key,
          parsed.kind === 'single'
            ? {
                kind: 'post',
                caller,
                message: withOwnListing(withOwnLimit(parsed.message, headers[ownLimitHeader]), headers[listingHeader]),
                bytes: body.length,
              }
            : {
                kind: 'batch',
                caller,
                messages: parsed.messages.map((message) => withOwnLimit(message, headers[ownLimitHeader])),
                refusals: parsed.refusals,
                bytes: body.length,
              },
        );
    });
  }

  /** Passes a message to the edge that holds the stream. */
  #pass(arrival: Arrival, key: string, post: InboxPost): void {
    const {
      bus,
      wheel,
      gate: { boundary },
    } = this.#options;
    const pending = bus.request(subjects.edgeInbox(sessionKey(key)), post, {
      reply: (reply) => {
        limit.cancel();
        pending.close();
        if (reply.kind === 'accepted')
          arrival.response
            .writeHead(202, { 'content-type': 'text/plain', 'content-length': accepted.length })
            .end(accepted);
        else arrival.refuse(reply.fault);
      },
      failed: (error) => {
        limit.cancel();
        arrival.refuse(boundary.faultOf(error, 'session.unknown'));
      },
    });
    const limit = wheel.schedule(takeMs, () => {
      pending.close();
      arrival.refuse(fault('gateway.interrupted'));
    });
  }
}

export type EventSourcePath =
  | { readonly kind: 'stream'; readonly endpoint: EndpointName }
  | { readonly kind: 'post'; readonly endpoint: EndpointName; readonly key: string };

/** `/sse[/<endpoint>]` and `/messages[/<endpoint>]?sessionId=`; undefined for any other path. */
export function findEventSource(url: string): EventSourcePath | undefined {
  const stream = findEndpoint(url, streamPath);
  if (stream !== undefined) return { kind: 'stream', endpoint: stream };
  const endpoint = findEndpoint(url, postPath);
  return endpoint === undefined
    ? undefined
    : { kind: 'post', endpoint, key: new URL(url, 'http://gateway').searchParams.get(keyParameter) ?? '' };
}
