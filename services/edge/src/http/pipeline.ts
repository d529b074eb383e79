/**
 * What happens to an HTTP request, in order. Each refusal is cheaper than what comes after it:
 * host, origin, path, method, media types, revision header, session header, body size, JSON, envelope; then the bus.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gatewayFaultOf, subjects, type Bus, type BusError, type Journal, type PendingRequest } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous, errorText, fault, featuresOf, httpStatusOf, isLegacyRevision, isToken, newRequestKey, pushStreamIds, requestStream, toErrorObject,
  type Caller, type EndpointName, type GatewayFault, type JsonRpcId, type JsonRpcRequest, type Limits, type OpenReply, type PostedMessage, type SessionCommand,
  type StreamEntry, type StreamId,
} from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { checkModernRequest, isModern, readParameterHeaders } from '../dialect/modern/check-request.ts';
import { parseMessage } from '../parse-message.ts';
import { SessionAddresses, type SessionAddress } from '../session-addresses.ts';
import type { RequestMeter } from '../request-meter.ts';
import type { SessionDoor } from '../session-door.ts';
import { allowOrigin, answerPreflight } from './cors.ts';
import { EventSourceEndpoint, findEventSource, type EventSourcePath } from './event-source.ts';
import { EventWriter, readEventId, type EventStream, type EventWriterOptions } from './event-writer.ts';
import { PostAnswer, writeJson, type PostAnswerOptions } from './post-answer.ts';
import { checkHost } from './steps/check-host.ts';
import { checkOrigin, type OriginRule } from './steps/check-origin.ts';
import { findEndpoint } from './steps/find-endpoint.ts';
import { isJsonMediaType, readAccept, type Accepted } from './steps/read-accept.ts';
import { readBody } from './steps/read-body.ts';

export interface PipelineOptions {
  readonly bus: Bus;
  readonly door: SessionDoor;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly allowedHosts: ReadonlySet<string> | undefined;
  readonly origins: OriginRule;
  readonly nextStreamId: () => StreamId;
  readonly meter: RequestMeter;
  /** The event streams that are open. */
  readonly writers: Set<EventWriter>;
  /** What is kept of streams that clients may come back to; undefined where nothing outlives the process. */
  readonly streams: () => Journal<StreamEntry> | undefined;
}

/** One HTTP request on its way through. */
interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
}

type PostCommand = Extract<SessionCommand, { kind: 'post' | 'batch' }>;

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #writerOptions: EventWriterOptions;
  readonly #postOptions: EventWriterOptions & Pick<PostAnswerOptions, 'opened'>;
  readonly #nextPushId = pushStreamIds();
  readonly #sessions = new SessionAddresses();
  readonly #eventSource: EventSourceEndpoint;
  #isDraining = false;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#writerOptions = {
      wheel: options.wheel,
      maxBufferedBytes: options.limits.maxBufferedBytes,
      onSlowReader: () => options.metrics.slowReaders.inc(),
      open: options.writers,
    };
    const { streams } = options;
    this.#postOptions = {
      ...this.#writerOptions,
      opened: (session, stream, requests) => streams()?.append(subjects.stream(session, stream), { kind: 'opened', requests }),
    };
    this.#eventSource = new EventSourceEndpoint(options, this.#writerOptions);
    const { metrics } = options;
    metrics.beforeScrape(() => {
      metrics.inFlight.set(options.door.waiting);
      let buffered = 0;
      for (const writer of options.writers) buffered += writer.bufferedBytes;
      metrics.bufferedBytes.set(buffered);
    });
  }

  /** From now on new sessions are refused; requests of sessions that exist go on. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Why nothing at all is served to a request, judged by Host and Origin. */
  forbids(request: IncomingMessage): GatewayFault | undefined {
    const { allowedHosts, origins } = this.#options;
    return checkHost(request, allowedHosts) ?? checkOrigin(request, origins);
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const forbidden = this.forbids(request);
    if (forbidden !== undefined) {
      this.#refuse(response, forbidden);
      return;
    }
    allowOrigin(request, response);
    const url = request.url ?? '/';
    const endpoint = findEndpoint(url);
    if (endpoint === undefined) {
      const eventSource = findEventSource(url);
      if (eventSource === undefined || !(eventSource.endpoint === '' || isToken(eventSource.endpoint))) this.#refuse(response, fault('http.path_unknown', 'endpoints are /mcp, /mcp/<server> and /mcp/<profile>'));
      else this.#handleEventSource(request, response, eventSource);
      return;
    }
    const arrival: Arrival = { request, response, caller: { principal: anonymous, endpoint } };
    switch (request.method) {
      case 'POST':
        this.#post(arrival);
        return;
      case 'GET':
        this.#get(arrival);
        return;
      case 'DELETE':
        this.#delete(arrival);
        return;
      case 'OPTIONS':
        answerPreflight(response);
        return;
      default:
        response.setHeader('allow', 'POST, GET, DELETE, OPTIONS');
        this.#refuse(response, fault('http.method_not_allowed'));
    }
  };

  /** HTTP+SSE of 2024-11-05, which newer clients fall back to when a POST to its address is refused. */
  #handleEventSource(request: IncomingMessage, response: ServerResponse, path: EventSourcePath): void {
    const caller: Caller = { principal: anonymous, endpoint: path.endpoint as EndpointName };
    const expected = path.kind === 'stream' ? 'GET' : 'POST';
    if (request.method === 'OPTIONS') {
      answerPreflight(response);
    } else if (request.method !== expected) {
      response.setHeader('allow', `${expected}, OPTIONS`);
      this.#refuse(response, fault('http.method_not_allowed', `this address takes ${expected}`));
    } else if (path.kind === 'stream') {
      if (this.#isDraining) this.#refuse(response, fault('gateway.draining'));
      else this.#eventSource.open(response, caller);
    } else if (isJsonMediaType(request.headers['content-type'])) {
      this.#eventSource.post(request, response, caller, path.key);
    } else {
      this.#refuse(response, fault('http.media_type'));
    }
  }

  #refuse(response: ServerResponse, gatewayFault: GatewayFault, id?: JsonRpcId): void {
    this.#options.metrics.refused(gatewayFault.reason);
    // A body that was not read would hold the connection up.
    if (!response.req.complete) response.setHeader('connection', 'close');
    writeJson(response, httpStatusOf(gatewayFault.reason), errorText(id, toErrorObject(gatewayFault)));
  }

  #post(arrival: Arrival): void {
    const { request, response } = arrival;
    const { headers } = request;
    const { limits } = this.#options;
    const accepted = readAccept(headers.accept);
    const problem = !accepted.json && !accepted.events ? fault('http.not_acceptable')
      : isJsonMediaType(headers['content-type']) ? undefined : fault('http.media_type');
    if (problem !== undefined) {
      this.#refuse(response, problem);
      return;
    }
    readBody(request, limits.maxBodyBytes, (body) => {
      if (!Buffer.isBuffer(body)) {
        this.#refuse(response, body);
        return;
      }
      const parsed = parseMessage(body, limits);
      switch (parsed.kind) {
        case 'refused':
          this.#refuse(response, parsed.fault, parsed.id);
          return;
        case 'single':
          if (isModern(parsed.message, headers)) this.#postModern(arrival, accepted, parsed.message);
          else this.#postSingle(arrival, accepted, parsed.message);
          return;
        case 'batch':
          if (parsed.messages.some((message) => isModern(message, headers))) this.#refuse(response, fault('batch.unsupported'));
          else this.#postBatch(arrival, accepted, parsed.messages);
      }
    });
  }

  /** A request that carries its whole context (2026-07-28). Going away ends it: there is nothing to come back to. */
  #postModern({ request, response, caller }: Arrival, accepted: Accepted, posted: PostedMessage): void {
    if (posted.kind !== 'request') {
      // The revision has no notifications of clients over HTTP, and no answers; what there is does no harm.
      if (posted.kind === 'notification') response.writeHead(202, { 'content-length': 0 }).end();
      else this.#refuse(response, fault('message.invalid', 'a client of this revision answers in the parameters of its next request'));
      return;
    }
    const { id, method } = posted.message;
    const { meter } = this.#options;
    const { timer } = meter.count(method);
    const context = checkModernRequest(posted.message, request.headers);
    const problem = 'fault' in context ? context.fault : this.#isDraining ? fault('gateway.draining') : undefined;
    if (problem !== undefined || 'fault' in context) {
      this.#refuse(response, problem ?? fault('gateway.draining'), id);
      return;
    }
    const { bus, door } = this.#options;
    const key = newRequestKey();
    const span = meter.span(posted.message, caller, 'http', request.headers);
    const answer = new PostAnswer(response, { ...this.#postOptions, accepted, stream: { id: this.#options.nextStreamId(), isPrimed: false }, requestId: id, batchIds: undefined, session: undefined, timer, span });
    let pending: PendingRequest | undefined;
    try {
      pending = door.requestModern({ kind: 'request', key, caller, request: posted.message, context, parameterHeaders: readParameterHeaders(request.headers), trace: span?.traceparent }, {
        reply: (frame) => {
          if (frame.kind === 'refused') this.#options.metrics.refused(frame.fault.reason);
          if (answer.frame(frame)) pending?.close();
        },
        failed: (error) => answer.fail(this.#faultOf(error, 'gateway.unavailable')),
      });
    } catch (error) {
      answer.fail(this.#faultOf(error as BusError, 'gateway.unavailable'));
      return;
    }
    response.once('close', () => {
      if (response.writableFinished) return;
      answer.abandon();
      pending.close();
      if (bus.connected) bus.publish(subjects.modernControl, { kind: 'closed', key, reason: 'the client closed the stream' });
    });
  }

  #postSingle(arrival: Arrival, accepted: Accepted, message: PostedMessage): void {
    const id = message.kind === 'request' ? message.message.id : undefined;
    const unspoken = revisionProblem(arrival.request);
    if (unspoken !== undefined) {
      this.#refuse(arrival.response, unspoken, id);
      return;
    }
    const counted = message.kind === 'request' ? this.#options.meter.count(message.message.method) : undefined;
    const session = this.#sessionOf(arrival.request);
    if (session === undefined) {
      if (message.kind === 'request' && message.message.method === 'initialize') this.#openSession(arrival, accepted, message.message);
      else this.#refuse(arrival.response, fault('session.missing'), id);
      return;
    }
    const stream = this.#newStream(arrival.request, id);
    const span = message.kind === 'request' ? this.#options.meter.span(message.message, arrival.caller, 'http', arrival.request.headers) : undefined;
    const answer = new PostAnswer(arrival.response, { ...this.#postOptions, accepted, stream, requestId: id, batchIds: undefined, session: session.key, timer: counted?.timer, span });
    this.#command(arrival.response, session, { kind: 'post', caller: arrival.caller, stream: stream.id, message, ...(span === undefined ? {} : { trace: span.traceparent }) }, answer);
  }

  #postBatch(arrival: Arrival, accepted: Accepted, messages: readonly PostedMessage[]): void {
    const session = this.#sessionOf(arrival.request);
    const problem = session === undefined ? fault('session.missing') : revisionProblem(arrival.request);
    if (session === undefined || problem !== undefined) {
      this.#refuse(arrival.response, problem ?? fault('session.missing'));
      return;
    }
    const requests: JsonRpcId[] = [];
    for (const message of messages) {
      if (message.kind !== 'request') continue;
      requests.push(message.message.id);
      this.#options.meter.count(message.message.method);
    }
    const stream = this.#newStream(arrival.request);
    const answer = new PostAnswer(arrival.response, { ...this.#postOptions, accepted, stream, requestId: undefined, batchIds: requests, session: session.key, timer: undefined, span: undefined });
    this.#command(arrival.response, session, { kind: 'batch', caller: arrival.caller, stream: stream.id, messages }, answer);
  }

  /** Sends one command to the session's owner and writes what comes back. */
  #command(response: ServerResponse, session: SessionAddress, command: PostCommand, answer: PostAnswer): void {
    let pending: PendingRequest | undefined;
    try {
      pending = this.#options.door.request(session, command, {
        reply: (frame) => {
          if (frame.kind === 'refused') this.#options.metrics.refused(frame.fault.reason);
          if (answer.frame(frame)) pending?.close();
        },
        failed: (error) => answer.fail(this.#faultOf(error, 'session.unknown')),
      });
    } catch (error) {
      answer.fail(this.#faultOf(error as BusError, 'session.unknown'));
      return;
    }
    // Going away does not cancel (transports, Sending Messages): the work goes on, and its answer waits for the client to come back.
    response.once('close', () => {
      if (response.writableFinished) return;
      answer.abandon();
      pending.close();
      this.#options.door.tell(session, { kind: 'detach', stream: command.stream, reader: command.stream });
    });
  }

  #openSession({ response, caller }: Arrival, accepted: Accepted, request: JsonRpcRequest): void {
    if (this.#isDraining) {
      this.#refuse(response, fault('gateway.draining'), request.id);
      return;
    }
    this.#options.door.open({ kind: 'open', caller, request }, (reply) => this.#answerOpen(response, accepted, request.id, reply));
  }

  #answerOpen(response: ServerResponse, accepted: Accepted, id: JsonRpcId, reply: OpenReply): void {
    switch (reply.kind) {
      case 'refused':
        this.#refuse(response, reply.fault, id);
        return;
      case 'answered':
        writeJson(response, 200, reply.text);
        return;
      case 'opened':
        this.#sessions.opened(reply.session, reply.worker);
        if (accepted.json) {
          writeJson(response, 200, reply.text, { 'mcp-session-id': reply.session });
          return;
        }
        response.setHeader('mcp-session-id', reply.session);
        const writer = new EventWriter(response, this.#newStream(response.req), this.#writerOptions);
        writer.message(reply.text, 1);
        writer.end();
    }
  }

  #get({ request, response, caller }: Arrival): void {
    const session = this.#sessionOf(request);
    const problem = session === undefined ? fault('session.missing')
      : !readAccept(request.headers.accept).events ? fault('http.not_acceptable', 'a GET needs Accept: text/event-stream')
      : revisionProblem(request);
    if (problem !== undefined || session === undefined) {
      this.#refuse(response, problem ?? fault('session.missing'));
      return;
    }
    const { door, metrics } = this.#options;
    const after = readEventId(request.headers['last-event-id']);
    if (after === 'unknown') {
      this.#refuse(response, fault('stream.unknown'));
      return;
    }
    const { isPrimed } = this.#newStream(request);
    const stream = this.#nextPushId();
    let writer: EventWriter | undefined;
    try {
      const pending = door.request(session, { kind: 'attach', caller, stream, after }, {
        reply: (frame) => {
          switch (frame.kind) {
            case 'attached':
              // The same again, when another worker goes on with the session.
              if (writer !== undefined) return;
              writer = new EventWriter(response, { id: frame.stream, isPrimed: isPrimed && after === undefined }, this.#writerOptions);
              metrics.streams.inc();
              response.once('close', () => metrics.streams.dec());
              return;
            case 'message':
              writer?.message(frame.text, frame.sequence);
              if (frame.last) response.end();
              return;
            case 'end':
            case 'accepted':
              response.end();
              return;
            case 'refused':
              if (writer === undefined) this.#refuse(response, frame.fault);
              else writer.end();
              return;
            case 'moved':
            case 'probed':
          }
        },
        failed: (error) => {
          if (writer === undefined) this.#refuse(response, this.#faultOf(error, 'session.unknown'));
          else writer.end();
        },
      });
      response.once('close', () => {
        pending.close();
        if (writer !== undefined) door.tell(session, { kind: 'detach', stream: after?.stream ?? stream, reader: stream });
      });
    } catch (error) {
      this.#refuse(response, this.#faultOf(error as BusError, 'session.unknown'));
    }
  }

  #delete({ request, response, caller }: Arrival): void {
    const session = this.#sessionOf(request);
    const problem = session === undefined ? fault('session.missing') : revisionProblem(request);
    if (problem !== undefined || session === undefined) {
      this.#refuse(response, problem ?? fault('session.missing'));
      return;
    }
    try {
      const pending = this.#options.door.request(session, { kind: 'delete', caller }, {
        reply: (frame) => {
          pending.close();
          if (frame.kind === 'refused') this.#refuse(response, frame.fault);
          else response.writeHead(204).end();
        },
        failed: (error) => this.#refuse(response, this.#faultOf(error, 'session.unknown')),
      });
    } catch (error) {
      this.#refuse(response, this.#faultOf(error as BusError, 'session.unknown'));
    }
  }

  #faultOf(error: BusError, whenNobodyListens: 'session.unknown' | 'gateway.unavailable'): GatewayFault {
    const known = gatewayFaultOf(error);
    if (known !== undefined) return known;
    switch (error.kind) {
      case 'no-responders': return fault(whenNobodyListens);
      case 'closed': return fault('gateway.draining');
      case 'payload-too-large': return fault('message.too_large', error.message);
      default:
        this.#options.log.error({ err: error }, 'the bus failed');
        return fault('gateway.unavailable', error.message);
    }
  }

  /** The stream a request opens if it is answered by one. */
  #newStream(request: IncomingMessage, answers?: JsonRpcId): EventStream {
    const revision = request.headers['mcp-protocol-version'];
    const id = this.#options.nextStreamId();
    // Where nothing outlives the process, nobody comes back to a stream that is not known.
    const isNamed = answers !== undefined && this.#options.streams() !== undefined;
    return { id: isNamed ? requestStream(id, answers) : id, isPrimed: isLegacyRevision(revision) && featuresOf(revision).primingEvent };
  }

  #sessionOf(request: IncomingMessage): SessionAddress | undefined {
    const id = request.headers['mcp-session-id'];
    return typeof id === 'string' ? this.#sessions.of(id) : undefined;
  }
}

/** A revision nobody speaks is refused (2025-06-18 transports, Protocol Version Header); without the header it is 2025-03-26. */
function revisionProblem(request: IncomingMessage): GatewayFault | undefined {
  const revision = request.headers['mcp-protocol-version'];
  return revision === undefined || isLegacyRevision(revision) ? undefined : fault('revision.unsupported');
}
