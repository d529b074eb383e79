/**
 * HTTP+SSE, the transport of 2024-11-05 (basic/transports): a GET opens the stream, whose first event names the address to
 * POST to; every answer comes on the stream. The posts of one client may reach any edge: they travel to the one that holds
 * its stream.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gatewayFaultOf, subjects, type Bus, type BusError, type Subscription } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { errorText, fault, httpStatusOf, newSessionId, sessionKey, toErrorObject, type Caller, type GatewayFault, type Limits, type StreamId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { RequestMeter } from '../request-meter.ts';
import { DuplexClient } from '../duplex-client.ts';
import type { SessionDoor } from '../session-door.ts';
import { parseMessage } from '../parse-message.ts';
import { EventWriter, type EventWriterOptions } from './event-writer.ts';
import { writeJson } from './post-answer.ts';
import { readBody } from './steps/read-body.ts';

export interface EventSourceOptions {
  readonly bus: Bus;
  readonly door: SessionDoor;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly meter: RequestMeter;
}

const streamPath = '/sse';
const postPath = '/messages';
const keyParameter = 'sessionId';
/** The edge that holds the stream has this long to say that it took a message. */
const takeMs = 5_000;

export class EventSourceEndpoint {
  readonly #options: EventSourceOptions;
  readonly #writing: EventWriterOptions;

  constructor(options: EventSourceOptions, writing: EventWriterOptions) {
    this.#options = options;
    this.#writing = writing;
  }

  /** Opens a stream. The session begins with the `initialize` that is posted to it. */
  open(response: ServerResponse, caller: Caller): void {
    const { bus, door, limits, metrics, meter, log } = this.#options;
    const key = newSessionId();
    let client: DuplexClient | undefined;
    let subscription: Subscription | undefined;
    response.once('close', () => {
      subscription?.close();
      if (client === undefined) return;
      metrics.streams.dec();
      void client.end();
    });
    bus.subscribe(subjects.edgeInbox(sessionKey(key)), (post, reply) => {
      if (client === undefined || post.caller.principal !== caller.principal || post.caller.endpoint !== caller.endpoint) {
        reply({ kind: 'refused', fault: fault('session.unknown') });
        return;
      }
      reply({ kind: 'accepted' });
      client.receive(post.kind === 'post' ? { kind: 'single', message: post.message } : { kind: 'batch', messages: post.messages });
    }).then(
      (opened) => {
        subscription = opened;
        if (response.destroyed) {
          opened.close();
          return;
        }
        const writer = new EventWriter(response, { id: 'sse' as StreamId, isPrimed: false }, this.#writing);
        metrics.streams.inc();
        client = new DuplexClient({ bus, door, limits, caller, meter, carrier: 'http', write: (text) => writer.message(text, undefined), ended: () => writer.end() });
        writer.event('endpoint', `${postPath}${caller.endpoint === '' ? '' : `/${caller.endpoint}`}?${keyParameter}=${key}`);
      },
      (error: unknown) => {
        log.error({ err: error }, 'a stream could not be opened');
        this.#refuse(response, fault('gateway.unavailable'));
      },
    );
  }

  /** Takes a message for a stream. */
  post(request: IncomingMessage, response: ServerResponse, caller: Caller, key: string): void {
    const { bus, wheel, limits } = this.#options;
    readBody(request, limits.maxBodyBytes, (body) => {
      if (!Buffer.isBuffer(body)) {
        this.#refuse(response, body);
        return;
      }
      const parsed = parseMessage(body, limits);
      if (parsed.kind === 'refused') {
        writeJson(response, httpStatusOf(parsed.fault.reason), errorText(parsed.id, toErrorObject(parsed.fault)));
        return;
      }
      const post = parsed.kind === 'single' ? { kind: 'post', caller, message: parsed.message } as const : { kind: 'batch', caller, messages: parsed.messages } as const;
      try {
        const pending = bus.request(subjects.edgeInbox(sessionKey(key)), post, {
          reply: (reply) => {
            limit.cancel();
            pending.close();
            if (reply.kind === 'accepted') response.writeHead(202, { 'content-type': 'text/plain' }).end('Accepted');
            else this.#refuse(response, reply.fault);
          },
          failed: (error) => {
            limit.cancel();
            this.#refuse(response, faultOf(error));
          },
        });
        const limit = wheel.schedule(takeMs, () => {
          pending.close();
          this.#refuse(response, fault('gateway.interrupted'));
        });
      } catch (error) {
        this.#refuse(response, faultOf(error as BusError));
      }
    });
  }

  #refuse(response: ServerResponse, gatewayFault: GatewayFault): void {
    this.#options.metrics.refused(gatewayFault.reason);
    if (!response.req.complete) response.setHeader('connection', 'close');
    writeJson(response, httpStatusOf(gatewayFault.reason), errorText(undefined, toErrorObject(gatewayFault)));
  }
}

function faultOf(error: BusError): GatewayFault {
  return gatewayFaultOf(error) ?? (error.kind === 'no-responders' ? fault('session.unknown') : fault(error.kind === 'closed' ? 'gateway.draining' : 'gateway.unavailable', error.message));
}

export type EventSourcePath =
  | { readonly kind: 'stream'; readonly endpoint: string }
  | { readonly kind: 'post'; readonly endpoint: string; readonly key: string };

/** `/sse[/<endpoint>]` and `/messages[/<endpoint>]?sessionId=`; undefined for any other path. */
export function findEventSource(url: string): EventSourcePath | undefined {
  if (!url.startsWith(streamPath) && !url.startsWith(postPath)) return undefined;
  const { pathname, searchParams } = new URL(url, 'http://gateway');
  const [, root, endpoint = '', ...rest] = pathname.replace(/\/$/, '').split('/');
  if (rest.length > 0) return undefined;
  if (`/${root}` === streamPath) return { kind: 'stream', endpoint };
  return `/${root}` === postPath ? { kind: 'post', endpoint, key: searchParams.get(keyParameter) ?? '' } : undefined;
}
