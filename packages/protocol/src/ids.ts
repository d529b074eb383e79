/**
 * Identifiers, and the only functions that make them. A raw string of a client or server never becomes one of these, so they can be used in subjects of
 * the bus.
 */
import { isRawNumber, parseJson } from './exact-numbers.ts';
import { isJsonRpcId, type JsonRpcId } from './json-rpc.ts';
import { hash, randomBytes } from 'node:crypto';

declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

/** The value of `Mcp-Session-Id`: 192 random bits, base64url. It must not be guessable, but is not a credential. */
export type SessionId = Brand<string, 'SessionId'>;
/** Identifies a session inside the gateway: in subjects, logs and keys. A `SessionId` cannot be computed from it. */
export type SessionKey = Brand<string, 'SessionKey'>;
/** One client request and everything that belongs to it, unique in the whole system. */
export type ExchangeId = Brand<string, 'ExchangeId'>;
/** One question of the gateway to a client, unique in the whole system, so that an answer fits one question only. Also its progress token. */
export type QuestionId = Brand<string, 'QuestionId'>;
/** The name an operator gave an upstream server in the configuration. */
export type ServerName = Brand<string, 'ServerName'>;
/** One open response stream of a client: the answer to a POST, or a GET stream. */
export type StreamId = Brand<string, 'StreamId'>;
/** One process (or one role inside a process) of the gateway. */
export type WorkerId = Brand<string, 'WorkerId'>;
/** The part of a client's address after `/mcp`: a server, a profile, or the empty string for all servers. */
export type EndpointName = Brand<string, 'EndpointName'>;
/** The identity of a caller, as the edge has established it. */
export type Principal = Brand<string, 'Principal'>;

/** The allowed characters of a token in a subject, and so of every name that we make or accept for one (ours; NATS ADR-6 "restricted term"). */
const tokenPattern = /^[A-Za-z0-9_-]{1,64}$/;

export function isToken(value: string): boolean {
  return tokenPattern.test(value);
}

export function newSessionId(): SessionId {
  return randomBytes(24).toString('base64url') as SessionId;
}

const sessionIdPattern = /^[A-Za-z0-9_-]{32}$/;

/** Whether a client's string has the form that `newSessionId` makes. For any other string nothing is looked up or remembered. */
export function isSessionId(value: string): value is SessionId {
  return sessionIdPattern.test(value);
}

/** The key of the session that a client's header value names. Any string has a key; only the session's owner can tell whether the session exists. */
export function sessionKey(sessionId: string): SessionKey {
  return hash('sha256', sessionId, 'base64url').slice(0, 32) as SessionKey;
}

/** The beginning of the keys that this process gives to requests: 96 random bits. */
const requestKeys = randomBytes(12).toString('base64url');
let requestCount = 0;

/** A key for one request without a session, in the place of a session's key: unique in the system, and never shown to a client. */
export function newRequestKey(): SessionKey {
  requestCount += 1;
  return `${requestKeys}${requestCount.toString(36)}` as SessionKey;
}

export function newWorkerId(role: string): WorkerId {
  return `${role}-${randomBytes(9).toString('base64url')}` as WorkerId;
}

/** Makes ids that are unique in the system, since they contain the worker's id. */
export function idSequence<Id extends ExchangeId | StreamId | QuestionId>(worker: WorkerId): () => Id {
  let count = 0;
  return () => {
    count += 1;
    return `${worker}-${count.toString(36)}` as Id;
  };
}

/** The part of a stream's id that names its request. */
const namedRequest = /-R(?:[0-9a-f]{2})+$/;

/**
 * The id of the exchange of a client's request. It follows from what every worker that serves the request knows, so that another worker can ask for it.
 * @param origin the response stream of the POST, or the key of a request without a session; unique in the system.
 * @param id of the request. `1` and `"1"` give different exchanges.
 */
export function exchangeOf(origin: StreamId | SessionKey, id: JsonRpcId): ExchangeId {
  const name = typeof id === 'string' ? `s${id}` : `n${isRawNumber(id) ? id.rawJSON : id}`;
  // What counts up stands at the end, where tables of calls look (`KeyedRing`).
  const whole = `${name}-${origin.replace(namedRequest, '')}`;
  return (isToken(whole) ? whole : hash('sha256', whole, 'base64url')) as ExchangeId;
}

/**
 * The worker that made the id of a question. The id is a text, since some clients read only integers of 32 bits.
 * @param id of a client's answer.
 * @returns undefined for an id of another form. The worker may not exist.
 */
export function askerOf(id: unknown): WorkerId | undefined {
  const worker = typeof id === 'string' ? /^(session-.{12})-[0-9a-z]{1,11}$/.exec(id)?.[1] : undefined;
  return worker !== undefined && isToken(worker) ? (worker as WorkerId) : undefined;
}

/** Bound on the characters of a stream's id. */
const maxStreamIdLength = 64;
/** Not a digit of base 36 as used in sequence numbers, with which other ids end. */
const requestMark = 'R';

/**
 * The id of a stream that answers one request. It contains the id of the request, which may have to be answered when everything else about it is lost.
 */
export function requestStream(id: StreamId, request: JsonRpcId): StreamId {
  const named = `${id}-${requestMark}${Buffer.from(JSON.stringify(request)).toString('hex')}`;
  return named.length <= maxStreamIdLength ? (named as StreamId) : id;
}

/** The id of the request in such an id. */
export function requestOf(stream: StreamId): JsonRpcId | undefined {
  const encoded = new RegExp(`-${requestMark}((?:[0-9a-f]{2})+)$`).exec(stream)?.[1];
  if (encoded === undefined) return undefined;
  try {
    const request = parseJson(Buffer.from(encoded, 'hex').toString());
    return isJsonRpcId(request) ? request : undefined;
  } catch {
    return undefined;
  }
}

const pushRole = 'push';

/** Ids of streams that answer no request. The worker recognizes them when a client resumes one without stored events. */
export function pushStreamIds(): () => StreamId {
  return idSequence<StreamId>(newWorkerId(pushRole));
}

export function isPushStream(id: StreamId): boolean {
  return id.startsWith(`${pushRole}-`);
}

/** @throws {Error} when the name cannot stand in a subject, a path or a tool prefix. */
export function parseServerName(name: string): ServerName {
  if (!isToken(name)) {
    throw new Error(`server name ${JSON.stringify(name)} must be 1 to 64 characters of letters, digits, "_" and "-"`);
  }
  return name as ServerName;
}

/** Stands for the gateway where limits and bounds of results name its own tools: `omnibus/run_code`. */
export const ownServer = 'omnibus' as ServerName;

/** @throws {Error} when the name cannot stand in a path. */
export function parseEndpointName(name: string): EndpointName {
  if (name !== '' && !isToken(name)) {
    throw new Error(`endpoint name ${JSON.stringify(name)} must be 1 to 64 characters of letters, digits, "_" and "-"`);
  }
  return name as EndpointName;
}

/** The endpoint `/mcp`, which offers every server. */
export const rootEndpoint = '' as EndpointName;

/** The caller at an endpoint without authentication. */
export const anonymous = 'anonymous' as Principal;

/** The client of requests on this machine, where the gateway can be reached from nowhere else. */
export const localUser = { id: 'local', isOne: false } as const;
