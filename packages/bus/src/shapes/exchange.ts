/** Shapes of the messages between session and backend workers. */
import {
  isCustomMethod,
  isInputMethod,
  type AttachCommand,
  type AttachReply,
  type BackendPresence,
  type CallCommand,
  type CallerTokenAsk,
  type CallerTokenReply,
  type ConnectCommand,
  type ConnectionRow,
  type ConnectReply,
  type ControlCommand,
  type ExchangeContext,
  type ExchangeEvent,
  type HeldExchanges,
  type JsonRpcErrorObject,
  type ProgressEvent,
  type ServerNotice,
  type TaskPlace,
  type OfferCaller,
  type Who,
} from '@omnibus/protocol';
import { client, gatewayFault, logLevel, sign, signs } from './session-messages.ts';
import {
  closed,
  count,
  fields,
  flag,
  list,
  number,
  object,
  oneOf,
  optional,
  shape,
  text,
  token,
  variants,
  whole,
  type Predicate,
} from './shape.ts';

const place = optional(fields<TaskPlace>({ worker: token, connection: token, isProgram: flag }));
const who = optional(
  fields<Who>({
    issuer: text,
    subject: text,
    tenant: optional(text),
    groups: list(text),
    claims: optional(object),
    at: optional(token),
  }),
);
const context = fields<ExchangeContext>({
  principal: text,
  who,
  session: token,
  capabilities: object,
  taskOwner: optional(token),
  taskPlace: place,
  standsAlone: flag,
  awaitsResult: optional(flag),
  client: optional(client),
  logLevel: optional(logLevel),
  wantsProgress: flag,
  trace: optional(text),
  tap: optional(text),
  maxTimeMs: number,
});
const offerCaller = fields<OfferCaller>({
  principal: text,
  who,
  session: token,
  capabilities: object,
  standsAlone: flag,
});
/** The method is any text: the adapter refuses one that this version does not support, with a message. */
export const callCommand = variants<CallCommand, 'kind'>('kind', {
  call: {
    exchange: token,
    method: text,
    params: object,
    context,
    isBound: optional(flag),
    isNotification: optional(flag),
    owner: optional(token),
    sending: optional(count),
    turn: optional(count),
  },
});

const error = fields<JsonRpcErrorObject>({ code: number, message: text, data: () => true });
const progress = { progress: number, total: optional(number), message: optional(text), more: optional(object) };
const questionMethod: Predicate = (value) =>
  typeof value === 'string' && (isInputMethod(value) || isCustomMethod(value));

const events = {
  progress,
  alive: {},
  doubt: { problem: text },
  bound: { worker: token },
  log: { params: object },
  notification: { method: text, params: optional(object) },
  input: { input: count, method: questionMethod, params: object, movedFrom: optional(token) },
  'input-answered': { input: count },
  'input-withdrawn': { input: count, reason: text },
  result: { result: object, place, tools: optional(list(text)) },
  error: { error },
  fault: { fault: gatewayFault },
};
export const exchangeEvent = variants<ExchangeEvent, 'kind'>('kind', events);
export const attachCommand = shape<AttachCommand>(
  fields<AttachCommand>({
    exchange: token,
    owner: token,
    ageMs: number,
    turn: count,
    takes: flag,
    sendings: optional(count),
  }),
);
export const attachReply = variants<AttachReply, 'kind'>('kind', {
  ...events,
  seen: { state: oneOf('running', 'answered', 'never', 'cancelled', 'unknown') },
});

const answered = fields<{ result: unknown }>({ result: object });
const failed = fields<{ error: unknown }>({ error });
const answer: Predicate = (value) => answered(value) || failed(value);

export const controlCommand = variants<ControlCommand, 'kind'>('kind', {
  cancel: {
    exchange: token,
    reason: text,
    isTimeout: optional(flag),
    worker: optional(token),
    owner: optional(token),
  },
  answer: { asker: token, input: count, answer, owner: optional(token) },
  'input-progress': { asker: token, input: count, params: object, owner: optional(token) },
  'roots-changed': { session: token },
  'log-level': { session: token, level: logLevel },
  unsubscribed: { session: token, uri: text },
  'session-ended': { session: token },
  wanted: { caller: optional(offerCaller) },
});

const sessions = list(token);
const progressEvent = whole(variants<ProgressEvent, 'kind'>('kind', { progress }));

export const serverNotice = variants<ServerNotice, 'kind'>('kind', {
  'adapter-changed': { server: token },
  'resource-updated': { server: token, uri: text, more: optional(object), sessions },
  log: { server: token, params: object, sessions, isOwn: optional(flag) },
  notification: { server: token, method: text, params: optional(object), sessions, isOwn: optional(flag) },
  question: {
    server: token,
    input: count,
    method: questionMethod,
    params: object,
    place,
    tool: optional(text),
    movedFrom: optional(token),
    sessions,
  },
  'question-withdrawn': { server: token, input: count, reason: text, sessions },
  'task-status': { server: token, task: object, place, tool: optional(text), sessions },
  'task-progress': { server: token, taskId: text, place, tool: optional(text), progress: progressEvent, sessions },
  'elicitation-complete': { server: token, elicitationId: text, more: optional(object), sessions },
});

export const connectCommand = variants<ConnectCommand, 'kind'>('kind', {
  look: { ticket: text, withIssuer: optional(flag) },
  begin: { ticket: text, principal: text, browser: text, isProven: flag },
  finish: { browser: text, state: text, sealed: optional(text) },
  list: { principal: optional(text), after: optional(text) },
  revoke: { server: token, principal: text },
  forget: {
    subject: text,
    issuer: optional(text),
    principal: optional(text),
    before: optional(number),
    except: optional(text),
  },
  'forget-directed': {
    subject: text,
    issuer: text,
    principal: text,
    tenant: optional(text),
    isAnyCase: optional(flag),
  },
});
const connection = fields<ConnectionRow>({
  server: token,
  host: text,
  principal: text,
  owner: optional(text),
  issuer: text,
  scope: optional(text),
  since: number,
  state: oneOf('connected', 'signed-out', 'unreadable'),
});
export const connectReply = closed(
  variants<ConnectReply, 'kind'>('kind', {
    ticket: { server: token, host: text, issuer: optional(text), principal: text, who },
    leave: { address: text },
    done: { server: token, code: optional(text) },
    gone: {},
    failed: { problem: text, ticket: optional(text) },
    connections: { connections: list(connection), total: count },
    revoked: { isRevoked: optional(flag), wasUnreadable: optional(flag) },
    forgotten: { count, notRevoked: count },
  }),
);

export const callerTokenAsk = shape<CallerTokenAsk>(
  fields<CallerTokenAsk>({
    server: token,
    principal: text,
    key: object,
    resourceMetadata: optional(text),
    scope: optional(text),
    isProofWanted: optional(flag),
    refused: optional(text),
  }),
);
export const callerTokenReply = closed(
  variants<CallerTokenReply, 'kind'>('kind', { token: { sealed: text }, failed: { problem: text, isPassing: flag } }),
);

export const backendPresence = sign<BackendPresence>(fields<BackendPresence>({ ...signs, servers: list(token) }));
export const heldExchanges = shape<HeldExchanges>(fields<HeldExchanges>({ exchanges: list(token) }));
