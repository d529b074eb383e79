/**
 * Every family of subjects: which roles send it, which receive it, and the shape of its messages. A subject exists only for a family in this table
 * (`subjects.ts`); each has a row in `docs/reference/subjects.md` and a check over NATS.
 */
import {
  attachCommand,
  attachReply,
  backendPresence,
  callCommand,
  callerTokenAsk,
  callerTokenReply,
  connectCommand,
  connectReply,
  controlCommand,
  exchangeEvent,
  heldExchanges,
  serverNotice,
} from './shapes/exchange.ts';
import {
  adoptCommand,
  adoptReply,
  findCommand,
  findReply,
  heldReaders,
  heldRequests,
  heldStreams,
  holdReply,
  inboxPost,
  inboxReply,
  lateMessage,
  lateReply,
  modernCommand,
  modernControl,
  modernReply,
  openCommand,
  openReply,
  presence,
  sessionMessage,
  streamEntry,
  streamFrame,
  takenNotice,
} from './shapes/session-messages.ts';
import { adminAnswer, adminQuestion, tapLease, tapReport } from './shapes/admin.ts';
import { limitsNews } from './shapes/limits.ts';
import type { PayloadOf, Shape } from './shapes/shape.ts';

/** A part of the gateway, as a process of its own or as one of several in a process. */
export type BusRole = 'edge' | 'session' | 'backend';

export interface Family {
  /** Names of the tokens that follow the family in a subject. */
  readonly tokens: readonly string[];
  /** Roles that send it. */
  readonly from: readonly BusRole[];
  /** Roles that receive it. */
  readonly hears: readonly BusRole[];
  /** Which processes of those roles receive it, as text. */
  readonly to: string;
  /** The name of the type in `packages/protocol`. */
  readonly carries: string;
  readonly request: Shape<unknown>;
  /** Left out where nothing is answered, as is `reply`. */
  readonly answers?: string;
  readonly reply?: Shape<unknown>;
}

const everyRole = ['edge', 'session', 'backend'] as const;

export const families = {
  'session-open': {
    tokens: [],
    from: ['edge'],
    hears: ['session'],
    to: 'any session worker (queue `session`)',
    carries: 'OpenCommand',
    request: openCommand,
    answers: 'OpenReply, once',
    reply: openReply,
  },
  'session-open-at': {
    tokens: ['worker'],
    from: ['edge'],
    hears: ['session'],
    to: 'a session worker that is there',
    carries: 'OpenCommand',
    request: openCommand,
    answers: 'OpenReply, once',
    reply: openReply,
  },
  'session-adopt': {
    tokens: [],
    from: ['edge'],
    hears: ['session'],
    to: 'any session worker (queue `session`)',
    carries: 'AdoptCommand',
    request: adoptCommand,
    answers: 'AdoptReply, once',
    reply: adoptReply,
  },
  'session-adopt-at': {
    tokens: ['worker'],
    from: ['edge'],
    hears: ['session'],
    to: 'a session worker that is there',
    carries: 'AdoptCommand',
    request: adoptCommand,
    answers: 'AdoptReply, once',
    reply: adoptReply,
  },
  'session-find': {
    tokens: [],
    from: ['session'],
    hears: ['session'],
    to: 'every session worker',
    carries: 'FindCommand',
    request: findCommand,
    answers: 'FindReply, once, of the one that holds it',
    reply: findReply,
  },
  'session-find-at': {
    tokens: ['worker'],
    from: ['backend', 'session'],
    hears: ['session'],
    to: 'each session worker that may be there; as `session-find-at.young`, those that have just started',
    carries: 'FindCommand',
    request: findCommand,
    answers: 'HoldReply, once',
    reply: holdReply,
  },
  'session-taken': {
    tokens: ['worker'],
    from: ['session'],
    hears: ['session'],
    to: 'the worker that held the session before',
    carries: 'TakenNotice',
    request: takenNotice,
  },
  presence: {
    tokens: [],
    from: ['session'],
    hears: ['edge', 'session', 'backend'],
    to: 'every process, its sender among them',
    carries: 'Presence',
    request: presence,
  },
  'edge-presence': {
    tokens: [],
    from: ['edge'],
    hears: ['session', 'edge'],
    to: 'every session worker, and its sender',
    carries: 'EdgePresence',
    request: presence,
  },
  'edge-readers': {
    tokens: ['edge'],
    from: ['session'],
    hears: ['edge'],
    to: 'an edge that streams are read at',
    carries: 'HeldReaders',
    request: heldReaders,
    answers: 'HeldReaders, once',
    reply: heldReaders,
  },
  session: {
    tokens: ['worker'],
    from: ['edge'],
    hears: ['session'],
    to: 'the worker that holds the session',
    carries: 'SessionMessage',
    request: sessionMessage,
    answers: 'StreamFrame, many',
    reply: streamFrame,
  },
  'session-streams': {
    tokens: ['worker'],
    from: ['session'],
    hears: ['session'],
    to: 'the session worker that held a session before',
    carries: 'HeldStreams',
    request: heldStreams,
    answers: 'HeldStreams, once',
    reply: heldStreams,
  },
  'session-late': {
    tokens: ['worker'],
    from: ['session'],
    hears: ['session'],
    to: 'the session worker that held a session before',
    carries: 'LateMessage',
    request: lateMessage,
    answers: 'LateReply, once',
    reply: lateReply,
  },
  stream: {
    tokens: ['key', 'stream'],
    from: ['session', 'edge'],
    hears: ['session', 'edge'],
    to: 'the journal of streams',
    carries: 'StreamEntry',
    request: streamEntry,
  },
  modern: {
    tokens: [],
    from: ['edge'],
    hears: ['session'],
    to: 'any session worker (queue `session`)',
    carries: 'ModernCommand',
    request: modernCommand,
    answers: 'ModernReply, many',
    reply: modernReply,
  },
  'modern-at': {
    tokens: ['worker'],
    from: ['edge'],
    hears: ['session'],
    to: 'a session worker that is there, or that holds the call',
    carries: 'ModernCommand',
    request: modernCommand,
    answers: 'ModernReply, many',
    reply: modernReply,
  },
  'modern-control': {
    tokens: [],
    from: ['edge'],
    hears: ['session'],
    to: 'every session worker',
    carries: 'ModernControl',
    request: modernControl,
  },
  'modern-holds-at': {
    tokens: ['worker'],
    from: ['backend', 'edge'],
    hears: ['session'],
    to: 'the session worker that may hold them',
    carries: 'HeldRequests',
    request: heldRequests,
    answers: 'HeldRequests, once',
    reply: heldRequests,
  },
  'edge-inbox': {
    tokens: ['key'],
    from: ['edge'],
    hears: ['edge'],
    to: 'the edge that holds the HTTP+SSE stream',
    carries: 'InboxPost',
    request: inboxPost,
    answers: 'InboxReply, once',
    reply: inboxReply,
  },
  backend: {
    tokens: ['server'],
    from: ['session'],
    hears: ['backend'],
    to: 'any adapter of the server (queue `backend`)',
    carries: 'CallCommand',
    request: callCommand,
    answers: 'ExchangeEvent, many',
    reply: exchangeEvent,
  },
  'backend-at': {
    tokens: ['server', 'worker'],
    from: ['session'],
    hears: ['backend'],
    to: 'an adapter that is there, or that keeps something for the session',
    carries: 'CallCommand',
    request: callCommand,
    answers: 'ExchangeEvent, many',
    reply: exchangeEvent,
  },
  'backend-presence': {
    tokens: [],
    from: ['backend'],
    hears: ['edge', 'session', 'backend'],
    to: 'every process, its sender among them',
    carries: 'BackendPresence',
    request: backendPresence,
  },
  'backend-holds-at': {
    tokens: ['server', 'worker'],
    from: ['session'],
    hears: ['backend'],
    to: 'the adapter that may hold them',
    carries: 'HeldExchanges',
    request: heldExchanges,
    answers: 'HeldExchanges, once',
    reply: heldExchanges,
  },
  'backend-attach': {
    tokens: ['worker'],
    from: ['session'],
    hears: ['backend'],
    to: 'each backend worker that may hold a call',
    carries: 'AttachCommand',
    request: attachCommand,
    answers: 'AttachReply, many',
    reply: attachReply,
  },
  limits: {
    tokens: [],
    from: ['session'],
    hears: ['session'],
    to: 'every session worker, its sender among them',
    carries: 'LimitsNews',
    request: limitsNews,
  },
  'backend-control': {
    tokens: ['server'],
    from: ['session'],
    hears: ['backend'],
    to: 'every adapter of the server',
    carries: 'ControlCommand',
    request: controlCommand,
  },
  connect: {
    tokens: [],
    from: ['edge'],
    hears: ['backend'],
    to: 'any backend worker (queue `backend`)',
    carries: 'ConnectCommand',
    request: connectCommand,
    answers: 'ConnectReply, once',
    reply: connectReply,
  },
  'caller-token': {
    tokens: ['edge'],
    from: ['backend'],
    hears: ['edge'],
    to: 'the edge that holds the token of a caller',
    carries: 'CallerTokenAsk',
    request: callerTokenAsk,
    answers: 'CallerTokenReply, once',
    reply: callerTokenReply,
  },
  notices: {
    tokens: [],
    from: ['backend'],
    hears: ['session'],
    to: 'every session worker',
    carries: 'ServerNotice',
    request: serverNotice,
  },
  'admin-ask': {
    tokens: [],
    from: everyRole,
    hears: everyRole,
    to: 'every process, its sender among them',
    carries: 'AdminQuestion',
    request: adminQuestion,
    answers: 'AdminAnswer, once each',
    reply: adminAnswer,
  },
  'tap-lease': {
    tokens: [],
    from: everyRole,
    hears: everyRole,
    to: 'every process, its sender among them',
    carries: 'TapLease',
    request: tapLease,
  },
  tap: {
    tokens: ['process'],
    from: everyRole,
    hears: everyRole,
    to: 'a process with a watch of calls at its admin port',
    carries: 'TapReport',
    request: tapReport,
  },
} as const satisfies Readonly<Record<string, Family>>;

export type FamilyName = keyof typeof families;
export type RequestOf<Name extends FamilyName> = PayloadOf<(typeof families)[Name]['request']>;
export type ReplyOf<Name extends FamilyName> = (typeof families)[Name] extends { readonly reply: infer Reply }
  ? PayloadOf<Reply>
  : never;
