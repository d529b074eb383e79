import { fault, type ServerName, type SessionRecord } from '@omnibus/protocol';
import type { KeptAtServers } from '../call/kept-at-servers.ts';
import type { Forwarding } from '../call/forward.ts';
import type { Orders } from '../call/in-order.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { SessionStreams } from '../streams/session-streams.ts';
import type { OfferWait } from '../views/offer-wait.ts';
import type { ServerQuestions } from './server-questions.ts';
import type { SessionClient } from './session-client.ts';
import type { SessionHost } from './session-host.ts';
import type { SessionSight } from './session-sight.ts';

/** The answer to requests that are still open when a worker must stop. */
export const interrupted = fault(
  'gateway.interrupted',
  'the part of the gateway that served the request had to stop before the server answered',
);

/** The parts of a session, which share them. */
export interface SessionParts {
  readonly host: SessionHost;
  readonly client: SessionClient;
  readonly sight: SessionSight;
  readonly streams: SessionStreams;
  readonly forwarding: Forwarding<PostStream>;
  /** State at servers for the client. */
  readonly kept: KeptAtServers;
  readonly questions: ServerQuestions;
  readonly offerWait: OfferWait;
  /** Of messages of servers outside calls. */
  readonly orders: Orders<ServerName>;
  readonly guests: readonly SessionGuest[];
}

/** A feature's work in each session, outside the requests of its client. */
export interface SessionGuest {
  /** The client has sent something, or opened a stream. */
  look(): void;
  /** The session ends at this worker. */
  close(): void;
}

export type GuestMaker = (session: Omit<SessionParts, 'guests'>) => SessionGuest;

/** Of a disconnected client's request without room for it. */
export const unkept = fault(
  'parked.limit',
  'the call was cancelled, since its client has disconnected and there was no room to keep it: limits.maxKeptBytesPerSession or limits.maxKeptBytes is reached',
);

/** The members of the session's record that come from its parts. */
export function keptOf({
  client,
  kept,
  questions: { standing },
}: SessionParts): Omit<SessionRecord, 'revision' | 'capabilities' | 'isReady' | 'worker'> {
  return {
    caller: client.caller,
    touched: [...kept.contacted],
    subscriptions: kept.subscriptions,
    bound: [...(kept.affinities ?? [])],
    offered: [...client.offered],
    ...(client.level.current === undefined ? {} : { logLevel: client.level.current }),
    ...(client.info === undefined ? {} : { client: client.info }),
    ...(standing.length === 0 ? {} : { questions: standing }),
  };
}
