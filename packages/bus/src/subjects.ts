/** Every subject and bucket of the system: the map of who says what to whom. `docs/subjects.md` is generated from `subjectTable`. */
import type {
  AdoptCommand, AdoptReply, BackendPresence, CallCommand, CatalogRecord, ControlCommand, ExchangeEvent, FindCommand, FindReply, HeldExchanges, HeldRequests, HeldStreams, InboxPost, InboxReply, LateMessage, LateReply, ModernCommand, ModernControl, ModernReply, OpenCommand, OpenReply, Presence, ServerName, ServerNotice, SessionKey, SessionMessage, SessionRecord, StreamEntry, StreamId,
  StreamFrame, TakenNotice, WorkerId,
} from '@omnibus/protocol';
import { forEveryone, subject, type Subject } from './subject.ts';
import type { Bucket, JournalDefinition } from './bus.ts';

/** Asked for with every call; there are as many as configured servers. */
const backends = new Map<ServerName, Subject<CallCommand, ExchangeEvent>>();
const backendsAt = new Map<ServerName, (worker: WorkerId) => Subject<CallCommand, ExchangeEvent>>();

/** More workers than that are not there at once; those that were are forgotten with the others. */
const maxWorkers = 1_000;

/** A subject of each worker; asked for with every request. */
function ofWorker<Request, Reply = never>(family: string, ...tokens: readonly string[]): (worker: WorkerId) => Subject<Request, Reply> {
  const known = new Map<WorkerId, Subject<Request, Reply>>();
  return (worker) => {
    const before = known.get(worker);
    if (before !== undefined) return before;
    if (known.size >= maxWorkers) known.clear();
    const made = subject<Request, Reply>(family, ...tokens, worker);
    known.set(worker, made);
    return made;
  };
}

/** What any worker can do: a subject of each of them, and one for whichever NATS chooses (a queue group). */
function ofAnyWorker<Request, Reply>(family: string): (worker: WorkerId | undefined) => Subject<Request, Reply> {
  const any = subject<Request, Reply>(family);
  const at = ofWorker<Request, Reply>(`${family}-at`);
  return (worker) => (worker === undefined ? any : at(worker));
}

export const subjects = {
  /** An `initialize`, for any session worker (queue group `session`). */
  sessionOpen: ofAnyWorker<OpenCommand, OpenReply>('session-open'),
  /** A session whose owner is not known or gone, for any session worker (queue group `session`). */
  sessionAdopt: ofAnyWorker<AdoptCommand, AdoptReply>('session-adopt'),
  /** A session of which there is no record: does a session worker hold it? */
  sessionFind: forEveryone(subject<FindCommand, FindReply>('session-find')),
  /** For the worker that held a session: another one does now. */
  sessionTaken: ofWorker<TakenNotice>('session-taken'),
  /** Signs of life of session workers, for every edge. */
  presence: subject<Presence>('presence'),
  /** What a client sends within a session, for the worker that holds it. */
  session: ofWorker<SessionMessage, StreamFrame>('session'),
  /** For a worker that held a session before: what it has still open. */
  sessionStreams: ofWorker<HeldStreams, HeldStreams>('session-streams'),
  /** For a worker that held a session before: what its client says of what is open there. */
  sessionLate: ofWorker<LateMessage, LateReply>('session-late'),
  /** What was sent to a client on a stream it may come back to; kept by `streamJournal`. */
  stream: (key: SessionKey, stream: StreamId): Subject<StreamEntry> => subject('stream', key, stream),
  /** A request without a session, for any session worker (queue group `session`), or for the one that holds the call it continues. */
  modern: ofAnyWorker<ModernCommand, ModernReply>('modern'),
  /** For every session worker. */
  modernControl: subject<ModernControl>('modern-control'),
  /** Which of these requests does a session worker hold? Without a worker, as older edges ask, every one answers. */
  modernHolds: (worker: WorkerId | undefined): Subject<HeldRequests, HeldRequests> => (worker === undefined ? forEveryone(subject('modern-holds')) : subject('modern-holds-at', worker)),
  /** What a client of HTTP+SSE posts, for the edge that holds its stream. */
  edgeInbox: (key: SessionKey): Subject<InboxPost, InboxReply> => subject('edge-inbox', key),
  /** A call, for any adapter of the server (queue group `backend`). */
  backend: (server: ServerName): Subject<CallCommand, ExchangeEvent> => {
    const known = backends.get(server) ?? subject<CallCommand, ExchangeEvent>('backend', server);
    backends.set(server, known);
    return known;
  },
  /** The same, for one that is there, or that keeps something for the session. */
  backendAt: (server: ServerName, worker: WorkerId): Subject<CallCommand, ExchangeEvent> => {
    const known = backendsAt.get(server) ?? ofWorker<CallCommand, ExchangeEvent>('backend-at', server);
    backendsAt.set(server, known);
    return known(worker);
  },
  /** Signs of life of backend workers, for every session worker. */
  backendPresence: subject<BackendPresence>('backend-presence'),
  /** Which of these exchanges does a worker's adapter hold? Without a worker, as older session workers ask, every adapter answers. */
  backendHolds: (server: ServerName, worker: WorkerId | undefined): Subject<HeldExchanges, HeldExchanges> =>
    (worker === undefined ? forEveryone(subject('backend-holds', server)) : subject('backend-holds-at', server, worker)),
  /** Cancellation and the like, for every adapter of the server. */
  backendControl: (server: ServerName): Subject<ControlCommand> => subject('backend-control', server),
  /** What servers say outside calls, for every session worker. */
  notices: subject<ServerNotice>('notices'),
};

/** What each server offers; key: the server and the worker of the adapter that says so (`catalogKey`). */
export const catalogBucket: Bucket<CatalogRecord> = { name: 'omnibus-catalog' };

/** What clients may ask for again when the worker that sent it is gone. */
export const streamJournal: JournalDefinition<StreamEntry> = {
  name: 'omnibus-streams', family: 'stream', tokens: 2, maxAgeMs: 5 * 60_000, maxBytes: 128 * 1024 * 1024, maxEntries: 256,
};

/** What sessions are revived from; key: the session's. Kept a week at most after it was last written. */
export const sessionsBucket: Bucket<SessionRecord> = { name: 'omnibus-sessions', isSmall: true, maxAgeMs: 7 * 24 * 60 * 60_000 };

/** The rows of `docs/subjects.md`. */
export const subjectTable = [
  { subject: 'session-open', from: 'edge', to: 'any session worker (queue `session`)', carries: 'OpenCommand', answers: 'OpenReply, once' },
  { subject: 'session-open-at.<worker>', from: 'edge', to: 'a session worker that is there', carries: 'OpenCommand', answers: 'OpenReply, once' },
  { subject: 'session-adopt', from: 'edge', to: 'any session worker (queue `session`)', carries: 'AdoptCommand', answers: 'AdoptReply, once' },
  { subject: 'session-adopt-at.<worker>', from: 'edge', to: 'a session worker that is there', carries: 'AdoptCommand', answers: 'AdoptReply, once' },
  { subject: 'session-find', from: 'session', to: 'every session worker', carries: 'FindCommand', answers: 'FindReply, once, of the one that holds it' },
  { subject: 'session-taken.<worker>', from: 'session', to: 'the worker that held the session before', carries: 'TakenNotice', answers: 'nothing' },
  { subject: 'presence', from: 'session', to: 'every edge', carries: 'Presence', answers: 'nothing' },
  { subject: 'session.<worker>', from: 'edge', to: 'the worker that holds the session', carries: 'SessionMessage', answers: 'StreamFrame, many' },
  { subject: 'session-streams.<worker>', from: 'session', to: 'the session worker that held a session before', carries: 'HeldStreams', answers: 'HeldStreams, once' },
  { subject: 'session-late.<worker>', from: 'session', to: 'the session worker that held a session before', carries: 'LateMessage', answers: 'LateReply, once' },
  { subject: 'stream.<key>.<stream>', from: 'session, edge', to: 'the journal of streams', carries: 'StreamEntry', answers: 'nothing' },
  { subject: 'modern', from: 'edge', to: 'any session worker (queue `session`)', carries: 'ModernCommand', answers: 'ModernReply, many' },
  { subject: 'modern-at.<worker>', from: 'edge', to: 'a session worker that is there, or that holds the call', carries: 'ModernCommand', answers: 'ModernReply, many' },
  { subject: 'modern-control', from: 'edge', to: 'every session worker', carries: 'ModernControl', answers: 'nothing' },
  { subject: 'modern-holds', from: 'edge of an older version', to: 'every session worker', carries: 'HeldRequests', answers: 'HeldRequests, once each' },
  { subject: 'modern-holds-at.<worker>', from: 'edge', to: 'the session worker that may hold them', carries: 'HeldRequests', answers: 'HeldRequests, once' },
  { subject: 'edge-inbox.<key>', from: 'edge', to: 'the edge that holds the HTTP+SSE stream', carries: 'InboxPost', answers: 'InboxReply, once' },
  { subject: 'backend.<server>', from: 'session', to: 'any adapter of the server (queue `backend`)', carries: 'CallCommand', answers: 'ExchangeEvent, many' },
  { subject: 'backend-at.<server>.<worker>', from: 'session', to: 'an adapter that is there, or that keeps something for the session', carries: 'CallCommand', answers: 'ExchangeEvent, many' },
  { subject: 'backend-presence', from: 'backend', to: 'every session worker', carries: 'BackendPresence', answers: 'nothing' },
  { subject: 'backend-holds.<server>', from: 'session of an older version', to: 'every adapter of the server', carries: 'HeldExchanges', answers: 'HeldExchanges, once each' },
  { subject: 'backend-holds-at.<server>.<worker>', from: 'session', to: 'the adapter that may hold them', carries: 'HeldExchanges', answers: 'HeldExchanges, once' },
  { subject: 'backend-control.<server>', from: 'session', to: 'every adapter of the server', carries: 'ControlCommand', answers: 'nothing' },
  { subject: 'notices', from: 'backend', to: 'every session worker', carries: 'ServerNotice', answers: 'nothing' },
] as const;
