/** GET and DELETE of an endpoint: opens or resumes a stream of a session, and ends a session. */
import type { BusError, PendingRequest, ReplyObserver } from '@omnibus/bus';
import { fault, pushStreamIds, type GatewayFault, type StreamFrame, type StreamId } from '@omnibus/protocol';
import { openerOf } from '../bounds/opening-rate.ts';
import type { SessionAddresses } from '../delivery/session-addresses.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { hasPrimedStreams, revisionProblem } from '../dialect/legacy/revision.ts';
import type { Arrival, Gate } from './arrival.ts';
import { EventWriter, readEventId, type EventWriterOptions } from './event-writer.ts';
import { readAccept } from './media.ts';

export interface GetOptions {
  readonly delivery: Delivery;
  readonly gate: Gate;
  readonly sessions: SessionAddresses;
  readonly writing: EventWriterOptions;
}

export class GetEndpoint {
  readonly #options: GetOptions;
  readonly #nextPushId = pushStreamIds();

  constructor(options: GetOptions) {
    this.#options = options;
  }

  open(arrival: Arrival): void {
    const {
      request: { headers },
    } = arrival;
    const session = this.#options.sessions.required(headers, () =>
      readAccept(headers.accept).events
        ? revisionProblem(headers)
        : fault('http.not_acceptable', 'a GET needs Accept: text/event-stream'),
    );
    if ('fault' in session) {
      arrival.refuse(session.fault);
      return;
    }
    const after = readEventId(headers['last-event-id']);
    if (after === 'unknown') {
      arrival.refuse(fault('stream.unknown'));
      return;
    }
    const { response, sender } = arrival;
    const {
      delivery,
      writing,
      gate: { metrics },
    } = this.#options;
    const stream = this.#nextPushId();
    const reading = new StreamReading(arrival, this.#options.gate, {
      writing,
      isPrimed: after === undefined && hasPrimedStreams(headers),
    });
    let pending: PendingRequest | undefined;
    arrival.run(() => {
      pending = delivery.sessions.request(session, { kind: 'attach', caller: sender.caller, stream, after }, reading);
    });
    // Not `once`, which keeps two more objects for each stream.
    response.on('close', () => {
      pending?.close();
      if (!reading.hasBegun) return;
      metrics.streams.dec();
      if (!reading.isComplete)
        delivery.sessions.tell(session, { kind: 'detach', stream: after?.stream ?? stream, reader: stream });
    });
  }

  delete(arrival: Arrival): void {
    const session = this.#options.sessions.required(arrival.request.headers, revisionProblem);
    if ('fault' in session) {
      arrival.refuse(session.fault);
      return;
    }
    const { delivery, gate } = this.#options;
    arrival.run(() => {
      const pending = delivery.sessions.request(
        session,
        { kind: 'delete', caller: arrival.sender.caller },
        {
          reply: (frame) => {
            pending.close();
            if (frame.kind === 'refused') {
              arrival.refuse(frame.fault);
              return;
            }
            gate.rate.giveBack(openerOf(arrival.sender.caller, arrival.address()));
            arrival.response.writeHead(204).end();
          },
          failed: (error) => arrival.refuse(gate.boundary.faultOf(error, 'session.unknown')),
        },
      );
    });
  }
}

interface ReadingOptions {
  readonly writing: EventWriterOptions;
  readonly isPrimed: boolean;
}

/** Writes the frames of a session's stream for the client that reads it. */
class StreamReading implements ReplyObserver<StreamFrame> {
  readonly #arrival: Arrival;
  readonly #gate: Gate;
  readonly #options: ReadingOptions;
  #writer: EventWriter | undefined;
  /** Whether the worker has ended the stream: its client has not left it early. */
  isComplete = false;

  constructor(arrival: Arrival, gate: Gate, options: ReadingOptions) {
    this.#arrival = arrival;
    this.#gate = gate;
    this.#options = options;
  }

  get hasBegun(): boolean {
    return this.#writer !== undefined;
  }

  reply(frame: StreamFrame): void {
    const { response } = this.#arrival;
    switch (frame.kind) {
      case 'attached':
        // The same again, when another worker goes on with the session.
        if (this.#writer === undefined) this.#begin(frame.stream);
        return;
      case 'message':
        this.#writer?.message(frame.text, frame.sequence);
        if (!frame.last) return;
        this.isComplete = true;
        response.end();
        return;
      case 'end':
      case 'accepted':
        this.isComplete = true;
        response.end();
        return;
      case 'refused':
        this.#fail(frame.fault);
        return;
      case 'moved':
      case 'probed':
    }
  }

  failed(error: BusError): void {
    this.#fail(this.#gate.boundary.faultOf(error, 'session.unknown'));
  }

  #begin(id: StreamId): void {
    const { response } = this.#arrival;
    const { metrics } = this.#gate;
    const { writing, isPrimed } = this.#options;
    this.#writer = new EventWriter(this.#arrival, { id, isPrimed }, writing);
    metrics.streams.inc();
    this.#arrival.whenUnproven(() => response.end());
  }

  #fail(gatewayFault: GatewayFault): void {
    if (this.#writer === undefined) this.#arrival.refuse(gatewayFault);
    else this.#writer.end();
  }
}
