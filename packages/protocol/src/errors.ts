/**
 * The one table of what the gateway itself answers when it refuses or fails. Three families stay apart: an upstream's own
 * error is passed on as it is, a gateway error stands in this table, and anything else is a bug and becomes `internal.error`.
 */
import type { JsonRpcErrorObject } from './json-rpc.ts';

/** `same`: the identical request may be sent again. `unknown-outcome`: it may have been executed, so look before repeating. */
type Retry = 'never' | 'same' | 'unknown-outcome';

interface ErrorRow {
  readonly code: number;
  /** The status when nothing was answered yet; once a stream is open the error rides in it. */
  readonly httpStatus: number;
  readonly retry: Retry;
  readonly meaning: string;
}

const row = (code: number, httpStatus: number, retry: Retry, meaning: string): ErrorRow => ({ code, httpStatus, retry, meaning });

export const errorTable = {
  'message.not_json': row(-32700, 400, 'never', 'The body is not JSON.'),
  'message.invalid': row(-32600, 400, 'never', 'The body is JSON but no JSON-RPC message of this protocol.'),
  'message.too_large': row(-32600, 413, 'never', 'The body is larger than limits.maxBodyBytes.'),
  'message.too_deep': row(-32600, 400, 'never', 'The body nests deeper than limits.maxJsonDepth.'),
  'message.too_many': row(-32600, 400, 'never', 'The body has more values than limits.maxJsonValues.'),
  'batch.unsupported': row(-32600, 400, 'never', 'Only sessions of revision 2025-03-26 may send an array of messages.'),
  'batch.invalid': row(-32600, 400, 'never', 'The batch is empty or too long, or its entry is initialize.'),
  'method.unknown': row(-32601, 200, 'never', 'The gateway does not serve this method, or nothing behind this endpoint does.'),
  'params.invalid': row(-32602, 200, 'never', 'The parameters do not fit the method.'),
  'cursor.invalid': row(-32602, 200, 'never', 'The cursor is not one of ours, or the list changed since. Start again without a cursor.'),
  'tool.unknown': row(-32602, 200, 'never', 'No server behind this endpoint offers a tool of that name.'),
  'definition.held': row(-32603, 200, 'never', 'The server has changed what this tool or prompt is since it was approved, or it is new. Whoever runs the gateway can look at the difference and approve it (`omnibus definitions`).'),
  'prompt.unknown': row(-32602, 200, 'never', 'No server behind this endpoint offers a prompt of that name.'),
  'resource.unknown': row(-32002, 200, 'never', 'No server behind this endpoint knows that resource.'),
  'resource.ambiguous': row(-32602, 200, 'never', 'No server lists that resource, and several could have it: data.servers names them. omnibus://SERVER/ in front of the URI says which.'),
  'task.unsupported': row(-32601, 200, 'never', 'The tool does not run as a task.'),
  'task.unknown': row(-32602, 200, 'never', 'There is no such task, or it has expired.'),
  'task.lost': row(-32602, 200, 'unknown-outcome', 'The program that worked on the task is gone, or the part of the gateway that ran it, and the task with it.'),
  'session.missing': row(-32600, 400, 'never', 'The request needs the Mcp-Session-Id that initialize answered with.'),
  'session.unknown': row(-32600, 404, 'never', 'There is no such session, or it has ended. Initialize again.'),
  'session.initialized': row(-32600, 400, 'never', 'This session has been initialized already.'),
  'session.limit': row(-32603, 503, 'same', 'The worker or this caller has as many sessions as limits allow.'),
  'request.cancelled': row(-32603, 200, 'never', 'The client has cancelled the request. Only a client that takes no event stream is told so.'),
  'request.limit': row(-32603, 503, 'same', 'As many requests without a session wait for their answer as limits.maxInFlightPerSession allows one client, or limits.maxInFlightWithoutSession all.'),
  'parked.limit': row(-32603, 200, 'unknown-outcome', 'As many calls wait for answers of their clients as limits.maxParked and limits.maxParkedBytes allow. The call was cancelled.'),
  'session.rate': row(-32603, 429, 'same', 'This address opens sessions faster than limits.sessionsPerSecond and limits.sessionBurst allow. Retry-After says when it may go on.'),
  'session.busy': row(-32603, 503, 'same', 'The session has limits.maxInFlightPerSession requests waiting.'),
  'stream.limit': row(-32603, 409, 'same', 'The session has limits.maxStreamsPerSession streams open.'),
  'stream.unknown': row(-32600, 400, 'never', 'Last-Event-ID names no event of this session that is still kept.'),
  'revision.unsupported': row(-32600, 400, 'never', 'MCP-Protocol-Version names a revision this endpoint does not speak.'),
  'envelope.invalid': row(-32602, 400, 'never', 'A request of 2026-07-28 lacks metadata that every request must carry.'),
  'revision.unknown': row(-32022, 400, 'never', 'The request is of a revision this endpoint does not speak; data.supported names those it does.'),
  'header.mismatch': row(-32020, 400, 'never', 'A header that repeats a part of the request is missing or says something else.'),
  'capability.missing': row(-32021, 400, 'never', 'The request needs a capability its client did not declare; data.requiredCapabilities names it.'),
  'method.removed': row(-32601, 404, 'never', 'There is no such method in the revision of the request.'),
  'state.invalid': row(-32602, 200, 'never', 'The requestState is not one this gateway gave to this caller for this request, or its time is over.'),
  'state.lost': row(-32602, 200, 'unknown-outcome', 'The call that waited for these answers is gone, with the part of the gateway that held it. It is not repeated.'),
  'listen.limit': row(-32603, 200, 'same', 'There are as many subscriptions as limits.maxListenersPerClient allows one client, or limits.maxListeners all.'),
  'host.forbidden': row(-32600, 403, 'never', 'The Host header is not on the allow-list (DNS rebinding protection).'),
  'origin.forbidden': row(-32600, 403, 'never', 'The Origin header is not on the allow-list.'),
  'auth.required': row(-32600, 401, 'never', 'The endpoint wants to know who asks: send Authorization: Bearer with a token or an API key, or show a certificate where that is a way to be known. WWW-Authenticate says where one is had.'),
  'auth.invalid': row(-32600, 401, 'never', 'The token, API key or certificate proves nobody: it is not known here, has expired, or is meant for somebody else. The message says which.'),
  'auth.endpoint': row(-32600, 403, 'never', 'The caller is known, but its API key is not for this endpoint.'),
  'auth.scope': row(-32600, 403, 'never', 'The token is good but does not permit enough; data.requiredScopes names all that it must.'),
  'auth.unavailable': row(-32603, 503, 'same', 'Who asks cannot be found out now: an issuer does not answer, or too many unknown tokens are being looked at.'),
  'caller.unproven': row(-32603, 500, 'never', 'A part of the gateway was told who asks, and not shown that an edge has found it out. All edges and session workers need the same sealing key and the same `auth`.'),
  'auth.query': row(-32600, 400, 'never', 'The address holds a token or an API key. Send it in the Authorization header, and make a new one: addresses are written down in many places.'),
  'auth.blocked': row(-32600, 403, 'never', 'Whoever runs the gateway has blocked the caller, its key or its client (omnibus blocks).'),
  'http.path_unknown': row(-32600, 404, 'never', 'There is no endpoint at this path.'),
  'http.method_not_allowed': row(-32600, 405, 'never', 'The endpoint takes POST, GET and DELETE.'),
  'http.not_acceptable': row(-32600, 406, 'never', 'The Accept header allows neither application/json nor text/event-stream.'),
  'http.invalid': row(-32600, 400, 'never', 'What arrived is no HTTP request this gateway reads; the message says what is wrong with it.'),
  'http.timeout': row(-32600, 408, 'same', 'The request did not arrive whole within timeouts.request.'),
  'http.headers_too_large': row(-32600, 431, 'never', 'The request headers are larger than limits.maxHeaderBytes.'),
  'http.expectation': row(-32600, 417, 'never', 'The Expect header asks for something other than 100-continue.'),
  'http.content_encoding': row(-32600, 415, 'never', 'The body is compressed. It must be sent as it is.'),
  'http.media_type': row(-32600, 415, 'never', 'The body must be application/json.'),
  'limit.rate': row(-32603, 200, 'same', 'A rate of limits.rules is reached: data.limit names the rule, data.retryAfterMs says when the request may be sent again. It was not executed.'),
  'limit.concurrency': row(-32603, 200, 'same', 'As many calls run as a rule of limits.rules lets run at once: data.limit names it. The request was not executed.'),
  'limit.quota': row(-32603, 200, 'same', 'A quota of limits.rules for a day or month is used up, or what is left of it cannot be found out: data.limit names the rule, data.retryAfterMs says when there is more. The request was not executed.'),
  'call.blocked': row(-32603, 200, 'never', 'Whoever runs the gateway has blocked the tool or server (omnibus blocks). A call that was running was cancelled.'),
  'policy.denied': row(-32600, 200, 'never', 'A rule of the gateway (`access`) does not permit this; data.rule names it, and data.because says why, or whom to ask.'),
  'audit.unavailable': row(-32603, 503, 'same', 'What is not read-only is sent only when a record of it is safe (audit.strict), and none can be made now. The request was not executed.'),
  'upstream.unavailable': row(-32603, 200, 'same', 'The server is not connected. The request was not executed.'),
  'upstream.busy': row(-32603, 200, 'same', 'The server has as many requests running and waiting as its limits allow. The request was not executed.'),
  'upstream.connections': row(-32603, 200, 'same', 'The caller needs a connection of its own to the server, and as many as maxConnections of the server, limits.maxCallerConnections or limits.maxCallerPrograms allow are in use. The request was not executed.'),
  'upstream.lost': row(-32603, 200, 'unknown-outcome', 'The connection to the server broke while it worked on the request.'),
  'upstream.timeout': row(-32603, 200, 'unknown-outcome', 'The server did not answer within its time limit.'),
  'request.timeout': row(-32603, 200, 'unknown-outcome', 'The time limit that the client itself brought for the request has passed.'),
  'upstream.invalid': row(-32603, 200, 'unknown-outcome', 'The server answered with something that is not MCP.'),
  'upstream.sign_in': row(-32603, 200, 'never', 'The server wants its user to sign in, at the address in data.url. The request was not executed; make it again after that.'),
  'upstream.refused': row(-32603, 200, 'never', 'The server refused the gateway with an HTTP error.'),
  'input.unattributed': row(-32603, 200, 'never', 'A server asked something of a client, and nothing tells of which. Set `isolation: session` for the server, or make the call again.'),
  'input.limit': row(-32603, 200, 'same', 'A server asked more of a client at once than one call may ask.'),
  'input.timeout': row(-32603, 200, 'never', 'The client did not answer a server within timeouts.human.'),
  'question.lost': row(-32603, 410, 'never', 'The call that asked the question is gone with the part of the gateway that held it. The answer was not used.'),
  'command.unknown': row(-32603, 503, 'same', 'A newer part of the gateway asked an older one for something that it does not know.'),
  'gateway.unavailable': row(-32603, 503, 'same', 'No part of the gateway is there to take the request.'),
  'gateway.busy': row(-32603, 503, 'same', 'Bodies of as many bytes are being read, from this address or in all, as limits allow. The request was not executed.'),
  'gateway.draining': row(-32603, 503, 'same', 'The gateway is stopping.'),
  'gateway.interrupted': row(-32603, 502, 'unknown-outcome', 'The part of the gateway that served the request is gone.'),
  'internal.error': row(-32603, 500, 'unknown-outcome', 'A fault in the gateway; the log has the details under data.incident.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorReason = keyof typeof errorTable;

/** A refusal or failure of the gateway in a form that travels over the bus and fits a JSON-RPC `error`. */
export interface GatewayFault {
  readonly reason: ErrorReason;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export function fault(reason: ErrorReason, message?: string, data?: Readonly<Record<string, unknown>>): GatewayFault {
  const text = message ?? errorTable[reason].meaning;
  return data === undefined ? { reason, message: text } : { reason, message: text, data };
}

/** The JSON-RPC error of a fault: `data.reason` and `data.retry` say by machine what `message` says in words. */
export function toErrorObject(gatewayFault: GatewayFault): JsonRpcErrorObject {
  const { code, retry } = rowOf(gatewayFault.reason);
  return { code, message: gatewayFault.message, data: { reason: gatewayFault.reason, retry, ...gatewayFault.data } };
}

export function httpStatusOf(reason: ErrorReason): number {
  return rowOf(reason).httpStatus;
}

/** A reason that only a newer part of the gateway knows came over the bus, and nothing is known of what it means for the outcome. */
function rowOf(reason: ErrorReason): ErrorRow {
  return Object.hasOwn(errorTable, reason) ? errorTable[reason] : errorTable['internal.error'];
}

/** A fault on its way up through code that throws; anything else thrown is a bug. */
export class GatewayError extends Error {
  readonly fault: GatewayFault;

  constructor(reason: ErrorReason, message?: string, data?: Readonly<Record<string, unknown>>, cause?: unknown) {
    const gatewayFault = fault(reason, message, data);
    super(gatewayFault.message, cause === undefined ? undefined : { cause });
    this.name = 'GatewayError';
    this.fault = gatewayFault;
  }
}
