/**
 * Identifiers and the only places that make them. A client's or server's raw string never becomes one of these:
 * that is what allows them to stand in a bus subject.
 */
import { parseJson } from './exact-numbers.ts';
import { isJsonRpcId, type JsonRpcId } from './json-rpc.ts';
import { hash, randomBytes } from 'node:crypto';

declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

/** The value of `Mcp-Session-Id`: 192 random bits, base64url. A secret towards the client, never a credential. */
export type SessionId = Brand<string, 'SessionId'>;
/** What stands for a session inside the gateway: in subjects, logs and keys. Cannot be turned back into a `SessionId`. */
export type SessionKey = Brand<string, 'SessionKey'>;
/** One client request and everything that belongs to it, unique in the whole system. */
export type ExchangeId = Brand<string, 'ExchangeId'>;
/** One question of the gateway to a client, unique in the whole system: its answer can be used for no other. Also the token its progress comes under. */
export type QuestionId = Brand<string, 'QuestionId'>;
/** The name an operator gave an upstream server in the configuration. */
export type ServerName = Brand<string, 'ServerName'>;
/** One open response stream of a client: a POST being answered or a GET stream. */
export type StreamId = Brand<string, 'StreamId'>;
/** One process (or one role inside a process) of the gateway. */
export type WorkerId = Brand<string, 'WorkerId'>;
/** What follows `/mcp` in the address a client uses: a server, a profile, or the empty string for all of them. */
export type EndpointName = Brand<string, 'EndpointName'>;
/** Who the caller is, as the edge established it. */
export type Principal = Brand<string, 'Principal'>;

/** The characters of a bus subject token, and so of every name we mint or accept for one (ours; NATS ADR-6 "restricted term"). */
const tokenPattern = /^[A-Za-z0-9_-]{1,64}$/;

export function isToken(value: string): boolean {
  return tokenPattern.test(value);
}

export function newSessionId(): SessionId {
  return randomBytes(24).toString('base64url') as SessionId;
}

const sessionIdPattern = /^[A-Za-z0-9_-]{32}$/;

/** Whether a client's string could be one that `newSessionId` made. Anything else names no session, and nothing is remembered of it. */
export function isSessionId(value: string): value is SessionId {
  return sessionIdPattern.test(value);
}

/**
 * The key of the session that a client's header value names. Any string has a key; whether such a session exists is
 * for its owner to say.
 */
export function sessionKey(sessionId: string): SessionKey {
  return hash('sha256', sessionId, 'base64url').slice(0, 32) as SessionKey;
}

/** Stands for the session that a request without one would have: it belongs to that request alone. */
export function newRequestKey(): SessionKey {
  return randomBytes(16).toString('base64url') as SessionKey;
}

export function newWorkerId(role: string): WorkerId {
  return `${role}-${randomBytes(9).toString('base64url')}` as WorkerId;
}

/** Makes ids that are unique in the system because the worker's own id is. */
export function idSequence<Id extends ExchangeId | StreamId | QuestionId>(worker: WorkerId): () => Id {
  let count = 0;
  return () => {
    count += 1;
    return `${worker}-${count.toString(36)}` as Id;
  };
}

/**
 * The worker that gave a question its id (a text: some clients read whole numbers of 32 bits only).
 * @param id what a client says it answers.
 * @returns undefined when it is no such id. Whether there is such a worker is not said.
 */
export function askerOf(id: unknown): WorkerId | undefined {
  const worker = typeof id === 'string' ? /^(session-.{12})-[0-9a-z]{1,11}$/.exec(id)?.[1] : undefined;
  return worker !== undefined && isToken(worker) ? (worker as WorkerId) : undefined;
}

/** Characters of a stream's id. */
const maxStreamIdLength = 64;
/** No digit of a sequence number, which is what such an id ends with otherwise. */
const requestMark = 'R';

/** The id of a stream that answers one request. It names the request, which may have to be answered when nothing else is known of it. */
export function requestStream(id: StreamId, request: JsonRpcId): StreamId {
  const named = `${id}-${requestMark}${Buffer.from(JSON.stringify(request)).toString('hex')}`;
  return named.length <= maxStreamIdLength ? (named as StreamId) : id;
}

/** The request that such an id names. */
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

/** Ids of streams that answer no request: a client may come back to one of which nothing is kept. */
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

/** @throws {Error} when the name cannot stand in a path. */
export function parseEndpointName(name: string): EndpointName {
  if (name !== '' && !isToken(name)) {
    throw new Error(`endpoint name ${JSON.stringify(name)} must be 1 to 64 characters of letters, digits, "_" and "-"`);
  }
  return name as EndpointName;
}

/** The endpoint `/mcp`, which offers every server. */
export const rootEndpoint = '' as EndpointName;

/** The caller of an endpoint that asks for no credentials. */
export const anonymous = 'anonymous' as Principal;

/** Whoever uses this machine, where nobody else can reach the gateway. */
export const localUser = { id: 'local', isOne: false } as const;
