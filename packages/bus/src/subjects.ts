/** Every subject and bucket of the system, with its senders and receivers. The payloads are in `families.ts`. */
import type {
  ApprovedDefinitions,
  ApprovalRecord,
  BlockRecord,
  CatalogRecord,
  ConversationRecord,
  DirectoryEntry,
  GrantRecord,
  OwnedResults,
  QuotaRecord,
  ServerName,
  SessionKey,
  SessionRecord,
  StoredResult,
  StreamEntry,
  StreamId,
  UsageRecord,
  WorkerId,
} from '@omnibus/protocol';
import { families, type FamilyName, type ReplyOf, type RequestOf } from './families.ts';
import { directoryEntry } from './shapes/directory.ts';
import { grantRecord } from './shapes/grants.ts';
import { approvalRecord, blockRecord, quotaRecord, usageRecord } from './shapes/limits.ts';
import { approvedDefinitions, catalogRecord, sessionRecord } from './shapes/records.ts';
import { conversationRecord } from './shapes/conversations.ts';
import { ownedResults, storedResult } from './shapes/results.ts';
import type { Shape } from './shapes/shape.ts';
import { streamEntry } from './shapes/session-messages.ts';
import { forEveryone, subject, type Subject } from './subject.ts';
import type { Bucket, JournalDefinition, LedgerDefinition } from './bus.ts';

type SubjectOf<Name extends FamilyName> = Subject<RequestOf<Name>, ReplyOf<Name>>;

/** Makes a subject; the types of its messages follow from its family. */
function of<Name extends FamilyName>(family: Name, ...tokens: readonly string[]): SubjectOf<Name> {
  return { ...subject<RequestOf<Name>, ReplyOf<Name>>(family, ...tokens), shapes: families[family] };
}

/** Subjects of servers, which are needed for every call; there are as many as configured servers. */
const backends = new Map<ServerName, SubjectOf<'backend'>>();
const backendsAt = new Map<ServerName, (worker: WorkerId) => SubjectOf<'backend-at'>>();

/** Bound on workers with cached subjects; beyond it the cache is cleared. */
const maxWorkers = 1_000;

/** Makes the subjects of single workers, which are needed for every request. */
function ofWorker<Name extends FamilyName>(
  family: Name,
  ...tokens: readonly string[]
): (worker: WorkerId) => SubjectOf<Name> {
  const known = new Map<WorkerId, SubjectOf<Name>>();
  return (worker) => {
    const before = known.get(worker);
    if (before !== undefined) return before;
    if (known.size >= maxWorkers) known.clear();
    const made = of(family, ...tokens, worker);
    known.set(worker, made);
    return made;
  };
}

/** A command that any worker can take: a subject for each worker, and one for any worker that NATS chooses (a queue group). */
function ofAnyWorker<Name extends FamilyName, At extends FamilyName>(
  family: Name,
  familyAt: At,
): (worker: WorkerId | undefined) => SubjectOf<Name> | SubjectOf<At> {
  const any = of(family);
  const at = ofWorker(familyAt);
  return (worker) => (worker === undefined ? any : at(worker));
}

export const subjects = {
  /** An `initialize`, for any session worker (queue group `session`). */
  sessionOpen: ofAnyWorker('session-open', 'session-open-at'),
  /** A session with an unknown or dead worker, for any session worker (queue group `session`). */
  sessionAdopt: ofAnyWorker('session-adopt', 'session-adopt-at'),
  /** A session of which there is no record: does a session worker hold it? */
  sessionFind: forEveryone(of('session-find')),
  /** Does this one session worker hold a session? It answers in any case. */
  sessionFindAt: ofWorker('session-find-at'),
  /** Only session workers that have just started listen: if there is none, NATS says so at once. */
  sessionFindYoung: forEveryone(of('session-find-at', 'young')),
  /** For the worker that held a session: another one does now. */
  sessionTaken: ofWorker('session-taken'),
  /** Signs of life of session workers, for every edge. */
  presence: of('presence'),
  /** Signs of life of edges, for every session worker. */
  edgePresence: of('edge-presence'),
  /** For an edge: which of these streams does it still read? */
  edgeReaders: ofWorker('edge-readers'),
  /** Messages of a client within a session, for the worker that owns it. */
  session: ofWorker('session'),
  /** For a worker that held a session before: which streams of it are still open there? */
  sessionStreams: ofWorker('session-streams'),
  /** For a worker that held a session before: a message of the client about something that is still open there. */
  sessionLate: ofWorker('session-late'),
  /** Messages to a client on a stream that it may resume; kept by `streamJournal`. */
  stream: (key: SessionKey, stream: StreamId): SubjectOf<'stream'> => of('stream', key, stream),
  /** A request without a session, for any session worker (queue group `session`), or for the one that holds the call it continues. */
  modern: ofAnyWorker('modern', 'modern-at'),
  /** For every session worker. */
  modernControl: of('modern-control'),
  /** Which of these requests does a session worker hold? */
  modernHolds: ofWorker('modern-holds-at'),
  /** A POST of a client of HTTP+SSE, for the edge that holds its stream. */
  edgeInbox: (key: SessionKey): SubjectOf<'edge-inbox'> => of('edge-inbox', key),
  /** A call, for any adapter of the server (queue group `backend`). */
  backend: (server: ServerName): SubjectOf<'backend'> => {
    const known = backends.get(server);
    if (known !== undefined) return known;
    const made = of('backend', server);
    backends.set(server, made);
    return made;
  },
  /** A call, for an adapter that is known to be there, or that keeps state for the session. */
  backendAt: (server: ServerName, worker: WorkerId): SubjectOf<'backend'> => {
    const known = backendsAt.get(server);
    if (known !== undefined) return known(worker);
    const made = ofWorker('backend-at', server);
    backendsAt.set(server, made);
    return made(worker);
  },
  /** Signs of life of backend workers, for every process. */
  backendPresence: of('backend-presence'),
  /** Which of these exchanges does a worker's adapter hold? */
  backendHolds: (server: ServerName, worker: WorkerId): SubjectOf<'backend-holds-at'> =>
    of('backend-holds-at', server, worker),
  /** A call whose session worker is gone, for a backend worker that may hold it. */
  backendAttach: ofWorker('backend-attach'),
  /** Cancellations and similar commands, for every adapter of the server. */
  backendControl: (server: ServerName): SubjectOf<'backend-control'> => of('backend-control', server),
  /** Use of limits, which session workers report to each other. */
  limits: of('limits'),
  /** A user signs in for a server, for any backend worker (queue group `backend`). */
  connect: of('connect'),
  /** For the edge that holds the token of a caller: request to make a token for a server from it. */
  callerToken: ofWorker('caller-token'),
  /** Messages of servers outside calls, for every session worker. */
  notices: of('notices'),
  /** Questions of operators, for every process. */
  adminAsk: forEveryone(of('admin-ask')),
  /** A watch of calls, for every process. */
  tapLease: of('tap-lease'),
  /** Events of watched calls, for the process that shows them. */
  tap: ofWorker('tap'),
};

/** Longer than any process takes to find out that another one has deleted a key. */
const markMs = 10 * 60_000;

/** What each server offers; key: the server and the worker of the adapter that published it (`catalogKey`). */
export const catalogBucket: Bucket<CatalogRecord> = {
  name: 'omnibus-catalog',
  shape: catalogRecord,
  forgetsMs: markMs,
  isRewritten: true,
};

/** The approved definitions of each server; key: the server. */
export const approvedBucket: Bucket<ApprovedDefinitions> = {
  name: 'omnibus-definitions',
  shape: approvedDefinitions,
};

/** Messages that a client may request again when the worker that sent them is gone. */
export const streamJournal: JournalDefinition<StreamEntry> = {
  name: 'omnibus-streams',
  family: 'stream',
  tokens: 2,
  maxAgeMs: 5 * 60_000,
  maxBytes: 128 * 1024 * 1024,
  maxEntries: 256,
  shape: streamEntry,
};

/** Records from which sessions are restored; key: that of the session. Kept for at most a week after the last write. */
export const sessionsBucket: Bucket<SessionRecord> = {
  name: 'omnibus-sessions',
  shape: sessionRecord,
  isSmall: true,
  maxAgeMs: 7 * 24 * 60 * 60_000,
  maxBytes: 64 * 1024 * 1024,
  forgetsMs: markMs,
};

/** Records of the audit; the operator sets their retention. */
export const auditLedger = { name: 'omnibus-audit', family: 'audit' } as const satisfies Pick<
  LedgerDefinition,
  'name' | 'family'
>;

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const mebibyte = 1_024 * 1_024;
const sealed: Shape<string> = (stored) => (typeof stored === 'string' ? 'fits' : 'junk');
/** Buckets expire by age; the exact end is in each record, so buckets keep records somewhat longer. */
const slackMs = 5 * minuteMs;

/**
 * The data of the authorization server (`services/authorization`), each value encrypted. Any edge serves any step of a sign-in, so each must read what
 * another has just written.
 */
export const authorizationBuckets = {
  /** Codes and pending sign-ins. Strangers can cause these, so their room is small. */
  short: {
    name: 'omnibus-oauth-short',
    shape: sealed,
    isSmall: true,
    maxAgeMs: 15 * minuteMs,
    maxBytes: 32 * mebibyte,
  },
  /**
   * Proofs of keys (DPoP), for longer than each works. They have a bucket of their own, since a busy caller causes one with each request. At an edge, one
   * caller may cause a twelfth of it (`setup/src/identity.ts`).
   */
  proofs: {
    name: 'omnibus-oauth-proofs',
    shape: sealed,
    isSmall: true,
    maxAgeMs: 6 * minuteMs,
    maxBytes: 128 * mebibyte,
  },
  /** Sessions of browsers, consents and refresh tokens: at most this long after they were last used. */
  long: {
    name: 'omnibus-oauth-long',
    shape: sealed,
    isSmall: true,
    maxAgeMs: 31 * dayMs,
    maxBytes: 64 * mebibyte,
  },
  /** Clients that registered themselves; kept since they were last used. */
  clients: {
    name: 'omnibus-oauth-clients',
    shape: sealed,
    isSmall: true,
    maxAgeMs: 90 * dayMs,
    maxBytes: 32 * mebibyte,
  },
  /** The keys that tokens are signed with. */
  keys: { name: 'omnibus-oauth-keys', shape: sealed, isSmall: true },
  /** Revoked consents; every edge watches the bucket. */
  revoked: {
    name: 'omnibus-oauth-revoked',
    shape: sealed,
    isSmall: true,
    maxAgeMs: 31 * dayMs + slackMs,
    maxBytes: 16 * mebibyte,
  },
} as const satisfies Readonly<Record<string, Bucket<string>>>;

/** Quota that session workers have leased; key: the day or month, and a digest of the rule and the party that shares it. */
export const quotaBuckets = {
  day: {
    name: 'omnibus-quotas-day',
    shape: quotaRecord,
    isSmall: true,
    maxAgeMs: 3 * dayMs,
    maxBytes: 64 * mebibyte,
  },
  month: {
    name: 'omnibus-quotas-month',
    shape: quotaRecord,
    isSmall: true,
    maxAgeMs: 63 * dayMs,
    maxBytes: 64 * mebibyte,
  },
} as const satisfies Readonly<Record<string, Bucket<QuotaRecord>>>;

/** The use of tools by callers; key: the day and the session worker. */
export const usageBucket: Bucket<UsageRecord> = { name: 'omnibus-usage', shape: usageRecord, maxAgeMs: 63 * dayMs };

/**
 * Vectors of texts of tools, which session workers share so that a model reads each text once; key: the id of the model and the digest of the text. A value is a
 * scale and a byte for each number, in base64.
 */
export const vectorsBucket: Bucket<string> = {
  name: 'omnibus-vectors',
  shape: (stored) => (typeof stored === 'string' ? 'fits' : 'junk'),
  isSmall: true,
  maxAgeMs: 31 * dayMs,
  maxBytes: 64 * mebibyte,
};

/** Blocks; key: the kind, and a digest of the name. The process that writes a block removes those that have ended. */
export const blocksBucket: Bucket<BlockRecord> = {
  name: 'omnibus-blocks',
  shape: blockRecord,
  isSmall: true,
  maxBytes: 16 * mebibyte,
  forgetsMs: markMs,
};
/** Users and groups that providers keep up to date (SCIM); key: the directory, and the id there. */
export const directoryBucket: Bucket<DirectoryEntry> = {
  name: 'omnibus-directory',
  shape: directoryEntry,
  isSmall: true,
  maxBytes: 64 * mebibyte,
  forgetsMs: markMs,
};
/** Calls that wait for an approval, and for a day their outcome; only session workers write it. */
export const approvalsBucket: Bucket<ApprovalRecord> = {
  name: 'omnibus-approvals',
  shape: approvalRecord,
  isSmall: true,
  maxAgeMs: dayMs + slackMs,
  maxBytes: 64 * mebibyte,
  forgetsMs: markMs,
};
/**
 * Labels of conversations (`label` in rules); only session workers write it. Labels of a session are kept as long as its record.
 * The worker that wrote labels of another conversation removes them.
 */
export const conversationsBucket: Bucket<ConversationRecord> = {
  name: 'omnibus-conversations',
  shape: conversationRecord,
  isSmall: true,
  maxAgeMs: 31 * dayMs + slackMs,
  maxBytes: 64 * mebibyte,
  forgetsMs: markMs,
};
/**
 * Rights that approvers have given for a time; only session workers write it. Every grant ends within 31 days.
 * The worker that adds a grant removes those that ended more than a day ago.
 */
export const grantsBucket: Bucket<GrantRecord> = {
  name: 'omnibus-grants',
  shape: grantRecord,
  isSmall: true,
  maxAgeMs: 32 * dayMs,
  maxBytes: 16 * mebibyte,
  forgetsMs: markMs,
};
/** Large results of tools; only session workers use them. An option sets how long a result can be read, which is at most a day. */
export const resultBuckets = {
  /** Key: the owner, and a random id. */
  results: {
    name: 'omnibus-results',
    shape: storedResult,
    maxAgeMs: dayMs + slackMs,
    maxBytes: 64 * mebibyte,
    forgetsMs: markMs,
  } as Bucket<StoredResult>,
  /** The results of each owner; key: the owner. */
  owners: {
    name: 'omnibus-result-owners',
    shape: ownedResults,
    isSmall: true,
    maxAgeMs: dayMs + slackMs,
    maxBytes: 8 * mebibyte,
    forgetsMs: markMs,
  } as Bucket<OwnedResults>,
} as const;
/** The connections of users to servers (`packages/credentials`), each value encrypted under keys that only backend workers have. */
export const vaultBuckets = {
  connections: { name: 'omnibus-vault', shape: sealed, isSmall: true },
  /** Tickets and pending sign-ins. */
  passing: {
    name: 'omnibus-tickets',
    shape: sealed,
    isSmall: true,
    maxAgeMs: 15 * minuteMs,
    maxBytes: 16 * mebibyte,
  },
} as const satisfies Readonly<Record<string, Bucket<string>>>;
