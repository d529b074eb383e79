/** Handles POSTs to an endpoint: one message or a batch, in a session, for a new one, or without a session (2026-07-28). */
import { subjects, type Bus, type Journal } from '@omnibus/bus';
import {
  fault,
  newRequestKey,
  ownLimitHeader,
  requestStream,
  listingHeader,
  withOwnLimit,
  withOwnListing,
  type JsonRpcId,
  type JsonRpcRequest,
  type OpenReply,
  type PostedMessage,
  type SessionCommand,
  type SessionKey,
  type StreamEntry,
  type StreamId,
} from '@omnibus/protocol';
import { openerOf } from '../bounds/opening-rate.ts';
import { hasPrimedStreams, revisionProblem, sessionHeadersProblem } from '../dialect/legacy/revision.ts';
import { ownContext, readParameterHeaders, type OwnContext } from '../dialect/modern/check-request.ts';
import { parseMessage, type ParsedBody } from '../requests/parse-message.ts';
import type { RequestMeter } from '../requests/request-meter.ts';
import type { SessionAddress } from '../delivery/session-addresses.ts';
import type { Arrival } from './arrival.ts';
import { EventWriter } from './event-writer.ts';
import type { GetOptions } from './get.ts';
import { PostAnswer, type PostAnswerOptions } from './post-answer.ts';
import { checkBodyHeaders, readAccept, type Accepted } from './media.ts';

export interface PostOptions extends GetOptions {
  readonly bus: Bus;
  readonly meter: RequestMeter;
  readonly nextStreamId: () => StreamId;
}

type PostCommand = Extract<SessionCommand, { kind: 'post' | 'batch' }>;

export class PostEndpoint {
  readonly #options: PostOptions;
  readonly #answering: PostAnswerOptions;
  /** The journal of streams that clients may resume; undefined where nothing outlives the process. */
  #streams: Journal<StreamEntry> | undefined;
  #isDraining = false;

  constructor(options: PostOptions) {
    this.#options = options;
    this.#answering = {
      ...options.writing,
      gate: options.gate,
      opened: (session, stream, requests) =>
        this.#streams?.append(subjects.stream(session, stream), { kind: 'opened', requests }),
    };
  }

  keepStreams(journal: Journal<StreamEntry> | undefined): void {
    this.#streams = journal;
  }

  /** Refuses new sessions, and requests without one, from now on. */
  drain(): void {
    this.#isDraining = true;
  }

  receive(arrival: Arrival): void {
    const { headers } = arrival.request;
    const { limits } = this.#options.gate;
    const accepted = readAccept(headers.accept);
    const problem =
      !accepted.json && !accepted.events
        ? fault('http.not_acceptable')
        : (checkBodyHeaders(headers, limits.maxBodyBytes) ??
          ((headers['mcp-session-id'] ?? '') === '' ? undefined : sessionHeadersProblem(headers)));
    if (problem !== undefined) arrival.refuse(problem);
    else
      arrival.readBody((body) => {
        const parsed = parseMessage(body, limits);
        switch (parsed.kind) {
          case 'refused':
            arrival.refuse(parsed.fault, parsed.id);
            return;
          case 'single': {
            const ownLimit = headers[ownLimitHeader];
            const limited = ownLimit === undefined ? parsed.message : withOwnLimit(parsed.message, ownLimit);
            const listing = headers[listingHeader];
            const message = listing === undefined ? limited : withOwnListing(limited, listing);
            const context = ownContext(message, headers);
            if (context === undefined) this.#receiveSingle(arrival, accepted, message);
            else if (message.kind === 'request') this.#requestAlone(arrival, accepted, message.message, context);
            else hearAlone(arrival, message.kind);
            return;
          }
          case 'batch':
            if (parsed.messages.some((message) => ownContext(message, headers) !== undefined))
              arrival.refuse(fault('batch.unsupported'));
            else
              this.#receiveBatch(arrival, accepted, {
                ...parsed,
                messages: parsed.messages.map((message) => withOwnLimit(message, headers[ownLimitHeader])),
              });
        }
      });
  }

  /** Handles a request with its own context (2026-07-28). */
  #requestAlone(arrival: Arrival, accepted: Accepted, message: JsonRpcRequest, context: OwnContext): void {
    const { request, sender } = arrival;
    const { headers } = request;
    const { meter, delivery, nextStreamId } = this.#options;
    if ('fault' in context || this.#isDraining) {
      meter.count(message.method);
      arrival.refuse('fault' in context ? context.fault : fault('gateway.draining'), message.id);
      return;
    }
    const key = newRequestKey();
    const measured = meter.begin(message, sender.caller, 'http', headers);
    const answer = new PostAnswer(arrival, this.#answering, {
      accepted,
      stream: nextStreamId(),
      requestId: message.id,
      batchIds: undefined,
      asks: true,
      session: undefined,
      measured,
    });
    const command = {
      kind: 'request',
      key,
      caller: sender.byOrigin(request),
      request: message,
      context,
      parameterHeaders: readParameterHeaders(headers),
      ...measured.marks,
    } as const;
    try {
      answer.pending = delivery.stateless.request(command, answer);
    } catch (error) {
      this.#unsent(answer, error);
    }
    this.#endWithClient(arrival, answer, key, message.method);
  }

  /** When the client disconnects, its request ends, since it cannot be resumed. A subscription also ends with the rights of its sender. */
  #endWithClient(arrival: Arrival, answer: PostAnswer, key: SessionKey, method: string): void {
    const { response } = arrival;
    const { bus } = this.#options;
    const giveUp = (reason: string): void => {
      answer.abandon();
      answer.pending?.close();
      if (answer.pending !== undefined && bus.connected)
        bus.publish(subjects.modernControl, { kind: 'closed', key, reason });
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

  #receiveSingle(arrival: Arrival, accepted: Accepted, posted: PostedMessage): void {
    const {
      request: { headers },
      sender: { caller },
    } = arrival;
    const message = posted.kind === 'request' ? posted.message : undefined;
    const { meter, sessions } = this.#options;
    const session = sessions.named(headers);
    // A revision is agreed on by `initialize`, so none is in force before it, whatever the header says.
    const opening = session === undefined && message?.method === 'initialize' ? message : undefined;
    const unspoken = opening === undefined ? revisionProblem(headers) : undefined;
    if (unspoken !== undefined) {
      arrival.refuse(unspoken, message?.id);
      return;
    }
    if (session === undefined || 'fault' in session) {
      if (message !== undefined) meter.count(message.method);
      if (opening !== undefined) this.#open(arrival, accepted, opening);
      else arrival.refuse(session?.fault ?? fault('session.missing'), message?.id);
      return;
    }
    const stream = this.#newStream(message?.id);
    const measured = message === undefined ? undefined : meter.begin(message, caller, 'http', headers);
    const answer = new PostAnswer(arrival, this.#answering, {
      accepted,
      stream,
      requestId: message?.id,
      batchIds: undefined,
      asks: message !== undefined,
      session: session.key,
      measured,
    });
    this.#command(arrival, session, { kind: 'post', caller, stream, message: posted, ...measured?.marks }, answer);
  }

  #receiveBatch(
    arrival: Arrival,
    accepted: Accepted,
    { messages, refusals }: Extract<ParsedBody, { kind: 'batch' }>,
  ): void {
    const session = this.#options.sessions.required(arrival.request.headers, revisionProblem);
    if ('fault' in session) {
      arrival.refuse(session.fault);
      return;
    }
    const requests: JsonRpcId[] = [];
    for (const message of messages) {
      if (message.kind !== 'request') continue;
      requests.push(message.message.id);
      this.#options.meter.count(message.message.method);
    }
    const stream = this.#newStream();
    const asks = requests.length > 0 || (refusals ?? []).length > 0;
    const answer = new PostAnswer(arrival, this.#answering, {
      accepted,
      stream,
      requestId: undefined,
      batchIds: requests,
      asks,
      session: session.key,
      measured: undefined,
    });
    this.#command(
      arrival,
      session,
      { kind: 'batch', caller: arrival.sender.caller, stream, messages, refusals },
      answer,
    );
  }

  /** Sends one command to the session's owner and writes the answer. */
  #command({ response }: Arrival, session: SessionAddress, command: PostCommand, answer: PostAnswer): void {
    const { sessions } = this.#options.delivery;
    try {
      answer.pending = sessions.request(session, command, answer);
    } catch (error) {
      this.#unsent(answer, error);
    }
    // Going away does not cancel (transports, Sending Messages): the work goes on, and its answer waits for the client to come back.
    response.once('close', () => {
      if (response.writableFinished) return;
      answer.abandon();
      answer.pending?.close();
      if (answer.pending !== undefined)
        sessions.tell(session, { kind: 'detach', stream: command.stream, reader: command.stream });
    });
  }

  /** Answers a request that the bus could not carry. */
  #unsent(answer: PostAnswer, error: unknown): void {
    this.#options.gate.boundary.failed((gatewayFault) => answer.fail(gatewayFault), error);
  }

  #open(arrival: Arrival, accepted: Accepted, request: JsonRpcRequest): void {
    const { delivery, gate } = this.#options;
    const { caller } = arrival.sender;
    const opener = openerOf(caller, arrival.address());
    const problem = this.#isDraining ? fault('gateway.draining') : gate.rate.refuses(opener);
    if (problem !== undefined) {
      arrival.refuse(problem, request.id);
      return;
    }
    delivery.open({ kind: 'open', caller, request }, (reply) =>
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
        const stream = { id: this.#newStream(), isPrimed: hasPrimedStreams(arrival.request.headers) };
        const writer = new EventWriter(arrival, stream, this.#options.writing);
        writer.message(reply.text, 1);
        writer.end();
      }
    }
  }

  /** The id of the stream with which a request may be answered. */
  #newStream(answers?: JsonRpcId): StreamId {
    const id = this.#options.nextStreamId();
    // If no state outlives the process, no client resumes an unknown stream.
    const isNamed = answers !== undefined && this.#streams !== undefined;
    return isNamed ? requestStream(id, answers) : id;
  }
}

/** 2026-07-28 has no notifications of clients over HTTP, and no answers; what there is does no harm. */
function hearAlone(arrival: Arrival, kind: 'notification' | 'response'): void {
  if (kind === 'notification') arrival.response.writeHead(202, { 'content-length': 0 }).end();
  else
    arrival.refuse(fault('message.invalid', 'a client of this revision answers in the parameters of its next request'));
}
