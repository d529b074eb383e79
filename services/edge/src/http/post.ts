/** Handles POSTs to an endpoint: one message or a batch, in a session, for a new one, or without a session (2026-07-28). */
import type { IncomingHttpHeaders } from 'node:http';
import { subjects, type Bus, type BusError, type Journal, type PendingRequest, type ReplyObserver } from '@omnibus/bus';
import {
  fault,
  newRequestKey,
  ownLimitHeader,
  requestStream,
  withOwnLimit,
  type GatewayFault,
  type JsonRpcId,
  type JsonRpcRequest,
  type OpenReply,
  type PostedMessage,
  type SessionCommand,
  type StreamEntry,
  type StreamFrame,
  type StreamId,
} from '@omnibus/protocol';
import { openerOf } from '../bounds/opening-rate.ts';
import type { Boundary } from '../requests/boundary.ts';
import { hasPrimedStreams, revisionProblem, sessionHeadersProblem } from '../dialect/legacy/revision.ts';
import { checkRequest, readParameterHeaders, standsAlone } from '../dialect/modern/check-request.ts';
import { parseMessage, type ParsedBody } from '../requests/parse-message.ts';
import type { RequestMeter } from '../requests/request-meter.ts';
import type { SessionAddress, SessionAddresses } from '../delivery/session-addresses.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { Arrival, Gate } from './arrival.ts';
import { EventWriter, type EventStream, type EventWriterOptions } from './event-writer.ts';
import { PostAnswer, type PostAnswerOptions } from './post-answer.ts';
import { sessionOf } from './session-of.ts';
import { checkBodyHeaders } from './steps/check-body-headers.ts';
import { readAccept, type Accepted } from './steps/read-accept.ts';

export interface PostOptions {
  readonly bus: Bus;
  readonly delivery: Delivery;
  readonly gate: Gate;
  readonly meter: RequestMeter;
  readonly sessions: SessionAddresses;
  readonly writing: EventWriterOptions;
  readonly nextStreamId: () => StreamId;
  /** The journal of streams that clients may resume; undefined where nothing outlives the process. */
  readonly streams: () => Journal<StreamEntry> | undefined;
  readonly isDraining: () => boolean;
}

type PostCommand = Extract<SessionCommand, { kind: 'post' | 'batch' }>;

export class PostEndpoint {
  readonly #options: PostOptions;
  readonly #boundary: Boundary;
  readonly #answering: EventWriterOptions & Pick<PostAnswerOptions, 'opened'>;

  constructor(options: PostOptions) {
    this.#options = options;
    this.#boundary = options.gate.boundary;
    const { streams } = options;
    this.#answering = {
      ...options.writing,
      opened: (session, stream, requests) =>
        streams()?.append(subjects.stream(session, stream), { kind: 'opened', requests }),
    };
  }

  /** Why a POST is refused before its body is read. */
  problemOf(headers: IncomingHttpHeaders, accepted: Accepted): GatewayFault | undefined {
    if (!accepted.json && !accepted.events) return fault('http.not_acceptable');
    return checkBodyHeaders(headers, this.#options.gate.limits.maxBodyBytes) ?? sessionHeadersProblem(headers);
  }

  receive(arrival: Arrival): void {
    const { headers } = arrival.request;
    const accepted = readAccept(headers.accept);
    const problem = this.problemOf(headers, accepted);
    if (problem !== undefined) {
      arrival.refuse(problem);
      return;
    }
    arrival.readBody((body) => {
      const parsed = parseMessage(body, this.#options.gate.limits);
      switch (parsed.kind) {
        case 'refused':
          arrival.refuse(parsed.fault, parsed.id);
          return;
        case 'single': {
          const message = withOwnLimit(parsed.message, headers[ownLimitHeader]);
          if (standsAlone(message, headers)) this.#receiveAlone(arrival, accepted, message);
          else this.#receiveSingle(arrival, accepted, message);
          return;
        }
        case 'batch':
          if (parsed.messages.some((message) => standsAlone(message, headers)))
            arrival.refuse(fault('batch.unsupported'));
          else
            this.#receiveBatch(arrival, accepted, {
              ...parsed,
              messages: parsed.messages.map((message) => withOwnLimit(message, headers[ownLimitHeader])),
            });
      }
    });
  }

  /** Handles a request with its own context (2026-07-28). When the client disconnects, the request ends, since it cannot be resumed. */
  #receiveAlone(arrival: Arrival, accepted: Accepted, posted: PostedMessage): void {
    const { request, response, caller } = arrival;
    if (posted.kind !== 'request') {
      // The revision has no notifications of clients over HTTP, and no answers; what there is does no harm.
      if (posted.kind === 'notification') response.writeHead(202, { 'content-length': 0 }).end();
      else
        arrival.refuse(
          fault('message.invalid', 'a client of this revision answers in the parameters of its next request'),
        );
      return;
    }
    const { id, method } = posted.message;
    const { meter, isDraining } = this.#options;
    const { timer } = meter.count(method);
    const context = checkRequest(posted.message, request.headers);
    if ('fault' in context || isDraining()) {
      arrival.refuse('fault' in context ? context.fault : fault('gateway.draining'), id);
      return;
    }
    const { bus, delivery, nextStreamId } = this.#options;
    const key = newRequestKey();
    const span = meter.span(posted.message, caller, 'http', request.headers);
    const watched = meter.watch(posted.message, caller, span?.traceparent);
    const answer = new PostAnswer(arrival, {
      ...this.#answering,
      accepted,
      stream: { id: nextStreamId(), isPrimed: false },
      requestId: id,
      batchIds: undefined,
      asks: true,
      session: undefined,
      timer,
      span,
      watched,
    });
    const command = {
      kind: 'request',
      key,
      caller: arrival.callerByOrigin,
      request: posted.message,
      context,
      parameterHeaders: readParameterHeaders(request.headers),
      trace: span?.traceparent,
      tap: watched?.tag,
    } as const;
    const pending = this.#ask(answer, 'gateway.unavailable', (observer) =>
      delivery.stateless.request(command, observer),
    );
    const giveUp = (reason: string): void => {
      answer.abandon();
      pending?.close();
      if (pending !== undefined && bus.connected) bus.publish(subjects.modernControl, { kind: 'closed', key, reason });
    };
    response.once('close', () => {
      if (!response.writableFinished) giveUp('the client closed the stream');
    });
    if (method !== 'subscriptions/listen') return;
    // A call that was allowed to begin goes on to its end; a subscription has none of its own, and no request follows that would bring other rights.
    const end = (reason: string): void => {
      giveUp(reason);
      if (response.headersSent) response.end();
      else response.destroy();
    };
    arrival.whenUnproven(
      () => end('it is not proven any more who listens'),
      () => end('who listens has other rights now'),
    );
  }

  #receiveSingle(arrival: Arrival, accepted: Accepted, message: PostedMessage): void {
    const { request, caller } = arrival;
    const id = message.kind === 'request' ? message.message.id : undefined;
    const { meter } = this.#options;
    const unspoken = revisionProblem(request.headers);
    if (unspoken !== undefined) {
      arrival.refuse(unspoken, id);
      return;
    }
    const counted = message.kind === 'request' ? meter.count(message.message.method) : undefined;
    const session = sessionOf(request, this.#options.sessions);
    if (session === undefined && message.kind === 'request' && message.message.method === 'initialize') {
      this.#open(arrival, accepted, message.message);
      return;
    }
    if (session === undefined || 'fault' in session) {
      arrival.refuse(session?.fault ?? fault('session.missing'), id);
      return;
    }
    const stream = this.#newStream(arrival, id);
    const span = message.kind === 'request' ? meter.span(message.message, caller, 'http', request.headers) : undefined;
    const watched = message.kind === 'request' ? meter.watch(message.message, caller, span?.traceparent) : undefined;
    const answer = new PostAnswer(arrival, {
      ...this.#answering,
      accepted,
      stream,
      requestId: id,
      batchIds: undefined,
      asks: id !== undefined,
      session: session.key,
      timer: counted?.timer,
      span,
      watched,
    });
    this.#command(
      arrival,
      session,
      {
        kind: 'post',
        caller,
        stream: stream.id,
        message,
        ...(span === undefined ? {} : { trace: span.traceparent }),
        ...(watched === undefined ? {} : { tap: watched.tag }),
      },
      answer,
    );
  }

  #receiveBatch(
    arrival: Arrival,
    accepted: Accepted,
    { messages, refusals }: Extract<ParsedBody, { kind: 'batch' }>,
  ): void {
    const session = sessionOf(arrival.request, this.#options.sessions);
    const problem =
      session === undefined
        ? fault('session.missing')
        : 'fault' in session
          ? session.fault
          : revisionProblem(arrival.request.headers);
    if (session === undefined || 'fault' in session || problem !== undefined) {
      arrival.refuse(problem ?? fault('session.missing'));
      return;
    }
    const requests: JsonRpcId[] = [];
    for (const message of messages) {
      if (message.kind !== 'request') continue;
      requests.push(message.message.id);
      this.#options.meter.count(message.message.method);
    }
    const stream = this.#newStream(arrival);
    const asks = requests.length > 0 || (refusals ?? []).length > 0;
    const answer = new PostAnswer(arrival, {
      ...this.#answering,
      accepted,
      stream,
      requestId: undefined,
      batchIds: requests,
      asks,
      session: session.key,
      timer: undefined,
      span: undefined,
      watched: undefined,
    });
    this.#command(
      arrival,
      session,
      { kind: 'batch', caller: arrival.caller, stream: stream.id, messages, refusals },
      answer,
    );
  }

  /** Sends one command to the session's owner and writes the answer. */
  #command({ response }: Arrival, session: SessionAddress, command: PostCommand, answer: PostAnswer): void {
    const { delivery } = this.#options;
    const pending = this.#ask(answer, 'session.unknown', (observer) =>
      delivery.sessions.request(session, command, observer),
    );
    // Going away does not cancel (transports, Sending Messages): the work goes on, and its answer waits for the client to come back.
    response.once('close', () => {
      if (response.writableFinished) return;
      answer.abandon();
      pending?.close();
      if (pending !== undefined)
        delivery.sessions.tell(session, { kind: 'detach', stream: command.stream, reader: command.stream });
    });
  }

  /** Sends a request on the bus. @returns undefined when it could not be sent, which has been answered. */
  #ask(
    answer: PostAnswer,
    whenNobodyListens: 'session.unknown' | 'gateway.unavailable',
    send: (observer: ReplyObserver<StreamFrame>) => PendingRequest,
  ): PendingRequest | undefined {
    const failed = (error: BusError): void => answer.fail(this.#boundary.faultOf(error, whenNobodyListens));
    let pending: PendingRequest | undefined;
    this.#boundary.run(
      (gatewayFault) => answer.fail(gatewayFault),
      () => {
        pending = send({
          reply: (frame) => {
            if (frame.kind === 'refused') this.#options.gate.metrics.refused(frame.fault.reason);
            if (answer.frame(frame)) pending?.close();
          },
          failed,
        });
      },
    );
    return pending;
  }

  #open(arrival: Arrival, accepted: Accepted, request: JsonRpcRequest): void {
    const { delivery, gate, isDraining } = this.#options;
    const opener = openerOf(arrival.caller, arrival.address());
    const problem = isDraining() ? fault('gateway.draining') : gate.rate.refuses(opener);
    if (problem !== undefined) {
      arrival.refuse(problem, request.id);
      return;
    }
    delivery.open({ kind: 'open', caller: arrival.caller, request }, (reply) =>
      arrival.run(() => {
        if (reply.kind !== 'opened') gate.rate.giveBack(opener);
        this.#answerOpen(arrival, accepted, request.id, reply);
      }),
    );
  }

  #answerOpen(arrival: Arrival, accepted: Accepted, id: JsonRpcId, reply: OpenReply): void {
    const { response } = arrival;
    switch (reply.kind) {
      case 'refused':
        arrival.refuse(reply.fault, id);
        return;
      case 'answered':
        arrival.json(200, reply.text);
        return;
      case 'opened': {
        this.#options.sessions.opened(reply.session, reply.worker);
        if (accepted.json) {
          arrival.json(200, reply.text, { 'mcp-session-id': reply.session });
          return;
        }
        response.setHeader('mcp-session-id', reply.session);
        const writer = new EventWriter(arrival, this.#newStream(arrival), this.#options.writing);
        writer.message(reply.text, 1);
        writer.end();
      }
    }
  }

  /** The id of the stream with which a request may be answered. */
  #newStream({ request }: Arrival, answers?: JsonRpcId): EventStream {
    const id = this.#options.nextStreamId();
    // Where nothing outlives the process, nobody comes back to a stream that is not known.
    const isNamed = answers !== undefined && this.#options.streams() !== undefined;
    return { id: isNamed ? requestStream(id, answers) : id, isPrimed: hasPrimedStreams(request.headers) };
  }
}
