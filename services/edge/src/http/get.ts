/** GET and DELETE of an endpoint: opens or resumes a stream of a session, and ends a session. */
import type { PendingRequest } from '@omnibus/bus';
import { fault, pushStreamIds } from '@omnibus/protocol';
import { openerOf } from '../bounds/opening-rate.ts';
import type { SessionAddress, SessionAddresses } from '../delivery/session-addresses.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { hasPrimedStreams, revisionProblem } from '../dialect/legacy/revision.ts';
import type { Arrival, Gate } from './arrival.ts';
import { EventWriter, readEventId, type EventWriterOptions } from './event-writer.ts';
import { sessionOf } from './session-of.ts';
import { readAccept } from './steps/read-accept.ts';

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
    const session = this.#sessionOf(arrival, () =>
      readAccept(headers.accept).events
        ? undefined
        : fault('http.not_acceptable', 'a GET needs Accept: text/event-stream'),
    );
    if (session === undefined) return;
    const after = readEventId(headers['last-event-id']);
    if (after === 'unknown') {
      arrival.refuse(fault('stream.unknown'));
      return;
    }
    const { response, caller } = arrival;
    const {
      delivery,
      gate: { metrics, boundary },
      writing,
    } = this.#options;
    const isPrimed = after === undefined && hasPrimedStreams(headers);
    const stream = this.#nextPushId();
    let writer: EventWriter | undefined;
    let pending: PendingRequest | undefined;
    arrival.run(() => {
      pending = delivery.sessions.request(
        session,
        { kind: 'attach', caller, stream, after },
        {
          reply: (frame) => {
            switch (frame.kind) {
              case 'attached':
                // The same again, when another worker goes on with the session.
                if (writer !== undefined) return;
                writer = new EventWriter(arrival, { id: frame.stream, isPrimed }, writing);
                metrics.streams.inc();
                arrival.whenUnproven(() => response.end());
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
                if (writer === undefined) arrival.refuse(frame.fault);
                else writer.end();
                return;
              case 'moved':
              case 'probed':
            }
          },
          failed: (error) => {
            if (writer === undefined) arrival.refuse(boundary.faultOf(error, 'session.unknown'));
            else writer.end();
          },
        },
      );
    });
    response.once('close', () => {
      pending?.close();
      if (writer !== undefined)
        delivery.sessions.tell(session, { kind: 'detach', stream: after?.stream ?? stream, reader: stream });
    });
  }

  delete(arrival: Arrival): void {
    const session = this.#sessionOf(arrival, () => undefined);
    if (session === undefined) return;
    const { delivery, gate } = this.#options;
    arrival.run(() => {
      const pending = delivery.sessions.request(
        session,
        { kind: 'delete', caller: arrival.caller },
        {
          reply: (frame) => {
            pending.close();
            if (frame.kind === 'refused') {
              arrival.refuse(frame.fault);
              return;
            }
            gate.rate.giveBack(openerOf(arrival.caller, arrival.address()));
            arrival.response.writeHead(204).end();
          },
          failed: (error) => arrival.refuse(gate.boundary.faultOf(error, 'session.unknown')),
        },
      );
    });
  }

  /** The session that a request names. @returns undefined when the request was refused. */
  #sessionOf(arrival: Arrival, check: () => ReturnType<typeof fault> | undefined): SessionAddress | undefined {
    const session = sessionOf(arrival.request, this.#options.sessions);
    const problem =
      session === undefined
        ? fault('session.missing')
        : 'fault' in session
          ? session.fault
          : (check() ?? revisionProblem(arrival.request.headers));
    if (session !== undefined && !('fault' in session) && problem === undefined) return session;
    arrival.refuse(problem ?? fault('session.missing'));
    return undefined;
  }
}
