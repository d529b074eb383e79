/** Shapes of the messages between edges and session workers. */
import {
  canTalk,
  isJsonRpcId,
  isLogLevel,
  isObject,
  type AdoptCommand,
  type AdoptReply,
  type Begun,
  type Caller,
  type Client,
  type EventPosition,
  type FindCommand,
  type FindReply,
  type Formats,
  type GatewayFault,
  type HeldReaders,
  type HeldRequests,
  type HeldStreams,
  type HoldReply,
  type InboxPost,
  type InboxReply,
  type LateMessage,
  type LateReply,
  type ModernCommand,
  type ModernContext,
  type ModernControl,
  type ModernReply,
  type OpenCommand,
  type OpenReply,
  type PostedMessage,
  type Presence,
  type SessionCommand,
  type SessionMessage,
  type StreamEntry,
  type StreamFrame,
  type TakenNotice,
} from '@omnibus/protocol';
import {
  closed,
  count,
  endpoint,
  fields,
  flag,
  list,
  number,
  object,
  oneOf,
  optional,
  pair,
  shape,
  text,
  token,
  variants,
  whole,
  type Predicate,
  type Shape,
} from './shape.ts';

export const client = fields<Client>({ id: text, isOne: flag });
/** A member that only messages within one process may have; over NATS it must be missing. */
const never: Predicate = (value) => value === undefined;
export const caller = fields<Caller>({
  principal: text,
  endpoint,
  origin: optional(text),
  proof: optional(text),
  facts: never,
  address: optional(text),
  client: optional(client),
  tenant: optional(text),
  isLimited: optional(flag),
});
export const logLevel: Predicate = (value) => isLogLevel(value);
export const gatewayFault = fields<GatewayFault>({ reason: text, message: text, data: optional(object) });

const formats = fields<Formats>({ version: text, says: count, reads: pair(count, count) });
/** Members that every sign of life has. */
export const signs = {
  worker: token,
  formats,
  region: optional(text),
  process: optional(text),
  isLeaving: flag,
  reconnects: count,
};

/** A sign of life is read whatever format its sender speaks; a format that this version does not speak is reported. */
export function sign<Payload extends Presence>(predicate: Predicate): Shape<Payload> {
  return (value) => (predicate(value) ? (canTalk((value as Payload).formats) ? 'fits' : 'foreign') : 'junk');
}

const id: Predicate = (value) => isJsonRpcId(value);
const notification: Predicate = (value) =>
  isObject(value) && typeof value['method'] === 'string' && optional(object)(value['params']);
const request: Predicate = (value) => notification(value) && id((value as { readonly id?: unknown }).id);
const response: Predicate = (value) =>
  isObject(value) && optional(id)(value['id']) && (isObject(value['result']) || isObject(value['error']));
const posted = whole(
  variants<PostedMessage, 'kind'>('kind', {
    request: { message: request },
    notification: { message: notification },
    response: { message: response },
  }),
);
const position = fields<EventPosition>({ stream: token, sequence: count });
const streams = list(token);
const headers: Predicate = (value) => isObject(value) && Object.values(value).every(text);

export const openCommand = variants<OpenCommand, 'kind'>('kind', { open: { caller, request } });
export const openReply = closed(
  variants<OpenReply, 'kind'>('kind', {
    opened: { session: text, worker: token, text },
    answered: { text },
    refused: { fault: gatewayFault },
  }),
);

const begun = optional(fields<Begun>({ ageMs: number, turn: count, backends: list(token), areAll: flag }));

const sessionCommand = variants<SessionCommand, 'kind'>('kind', {
  post: {
    caller,
    stream: token,
    message: posted,
    sentUpTo: optional(count),
    begun,
    trace: optional(text),
    tap: optional(text),
  },
  batch: {
    caller,
    stream: token,
    messages: list(posted),
    refusals: optional(list(text)),
    sentUpTo: optional(count),
    begun,
  },
  attach: { caller, stream: token, after: optional(position) },
  detach: { stream: token, reader: token },
  delete: { caller },
  probe: { streams },
});
export const sessionMessage: Shape<SessionMessage> = (value) =>
  isObject(value) && token(value['key']) && optional(token)(value['edge']) ? sessionCommand(value['command']) : 'junk';

const frames = {
  message: {
    text,
    isAnswer: flag,
    sequence: optional(count),
    last: flag,
    httpStatus: optional(count),
    missingScopes: optional(list(text)),
  },
  attached: { stream: token },
  accepted: {},
  end: {},
  probed: { missing: streams, notBegun: optional(streams) },
  moved: {},
  refused: { fault: gatewayFault },
};
export const streamFrame = closed(variants<StreamFrame, 'kind'>('kind', frames));
export const modernReply = closed(
  variants<ModernReply, 'kind'>('kind', { ...frames, elsewhere: { worker: token, call: optional(token) } }),
);
export const streamEntry = variants<StreamEntry, 'kind'>('kind', {
  opened: { requests: list(id) },
  sent: { sequence: count, text, isAnswer: flag, last: flag },
});
export const heldStreams = shape<HeldStreams>(fields<HeldStreams>({ key: token, streams }));

const context = fields<ModernContext>({ capabilities: object, logLevel: optional(logLevel) });
export const modernCommand = variants<ModernCommand, 'kind'>('kind', {
  request: {
    key: token,
    caller,
    request,
    context,
    parameterHeaders: optional(headers),
    trace: optional(text),
    tap: optional(text),
    begun,
    gone: optional(token),
  },
});
export const modernControl = variants<ModernControl, 'kind'>('kind', {
  closed: { key: token, reason: text, worker: optional(token) },
});
export const heldRequests = shape<HeldRequests>(
  fields<HeldRequests>({ keys: list(token), notBegun: optional(list(token)) }),
);

export const inboxPost = variants<InboxPost, 'kind'>('kind', {
  post: { caller, message: posted, bytes: count },
  batch: { caller, messages: list(posted), refusals: optional(list(text)), bytes: count },
});
export const inboxReply = closed(
  variants<InboxReply, 'kind'>('kind', { accepted: {}, refused: { fault: gatewayFault } }),
);

export const adoptCommand = shape<AdoptCommand>(fields<AdoptCommand>({ key: token, lost: optional(token) }));
export const adoptReply = closed(
  variants<AdoptReply, 'outcome'>('outcome', { held: { worker: token }, unknown: {}, busy: {} }),
);
export const findCommand = shape<FindCommand>(fields<FindCommand>({ key: token }));
export const findReply = shape<FindReply>(fields<FindReply>({ worker: token }));
export const holdReply = shape<HoldReply>(fields<HoldReply>({ isHeld: flag }));
export const takenNotice = shape<TakenNotice>(fields<TakenNotice>({ key: token }));
export const presence = sign<Presence>(
  fields<Presence>({ ...signs, sessions: optional(count), hearsYoung: optional(flag) }),
);
export const heldReaders = shape<HeldReaders>(fields<HeldReaders>({ readers: streams }));
export const lateMessage = shape<LateMessage>(fields<LateMessage>({ key: token, posted }));
export const lateReply = shape<LateReply>(fields<LateReply>({ outcome: oneOf('taken', 'closed', 'gone') }));
