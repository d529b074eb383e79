/**
 * The table of all errors that the gateway itself answers. There are three families: an error of an upstream server is passed on unchanged, an error of
 * the gateway has a row in this table, and any other error is a bug and becomes `internal.error`.
 */
import type { JsonRpcErrorObject } from './json-rpc.ts';

/**
 * `same`: the identical request may be sent again. `unknown-outcome`: the request may have been executed, which must be found out before it is
 * repeated.
 */
type Retry = 'never' | 'same' | 'unknown-outcome';

interface ErrorRow {
  readonly code: number;
  /** HTTP status of the response, if none has begun. On an open stream the error is sent as an event of that stream. */
  readonly httpStatus: number;
  readonly retry: Retry;
  readonly meaning: string;
}

const row = (code: number, httpStatus: number, retry: Retry, meaning: string): ErrorRow => ({
  code,
  httpStatus,
  retry,
  meaning,
});

export const errorTable = {
  'message.not_json': row(-32700, 400, 'never', 'The body is not JSON.'),
  'message.invalid': row(-32600, 400, 'never', 'The body is JSON but not a JSON-RPC message of this protocol.'),
  'message.too_large': row(-32600, 413, 'never', 'The body is larger than limits.maxBodyBytes.'),
  'message.too_deep': row(-32600, 400, 'never', 'The body nests deeper than limits.maxJsonDepth.'),
  'message.too_many': row(-32600, 400, 'never', 'The body has more values than limits.maxJsonValues.'),
  'batch.unsupported': row(-32600, 400, 'never', 'Only sessions of revision 2025-03-26 may send an array of messages.'),
  'batch.invalid': row(-32600, 400, 'never', 'The batch is empty or too long, or its entry is initialize.'),
  'method.unknown': row(
    -32601,
    200,
    'never',
    'Neither the gateway nor any server behind this endpoint serves this method.',
  ),
  'params.invalid': row(-32602, 200, 'never', 'The parameters do not fit the method.'),
  'cursor.invalid': row(
    -32602,
    200,
    'never',
    'The cursor is not one of this gateway, or the list has changed since. Read the list again without a cursor.',
  ),
  'tool.unknown': row(-32602, 200, 'never', 'No server behind this endpoint offers a tool of that name.'),
  'definition.held': row(
    -32603,
    200,
    'never',
    'The server has changed this tool or prompt since its approval, or the tool or prompt is new. The operator can inspect and approve the change (`omnibus definitions`).',
  ),
  'prompt.unknown': row(-32602, 200, 'never', 'No server behind this endpoint offers a prompt of that name.'),
  'resource.unknown': row(
    -32002,
    200,
    'never',
    'No server behind this endpoint knows that resource. For clients of 2026-07-28 the code is -32602.',
  ),
  'resource.ambiguous': row(
    -32602,
    200,
    'never',
    'No server lists that resource, and several could have it: data.servers names them. Put omnibus://SERVER/ in front of the URI to choose one.',
  ),
  'task.unsupported': row(-32601, 200, 'never', 'The tool does not run as a task.'),
  'task.unknown': row(-32602, 200, 'never', 'There is no such task, or it has expired.'),
  'task.lost': row(
    -32602,
    200,
    'unknown-outcome',
    "The task is gone with the server's program, or the process of the gateway, that worked on it.",
  ),
  'session.missing': row(-32600, 400, 'never', 'The request needs the Mcp-Session-Id that initialize answered with.'),
  'session.unknown': row(
    -32600,
    404,
    'never',
    'There is no such session, or it has ended. Send initialize without Mcp-Session-Id.',
  ),
  'session.initialized': row(-32600, 400, 'never', 'The session has already been initialized.'),
  'session.limit': row(
    -32603,
    503,
    'same',
    'The session worker has as many sessions as limits.maxSessions and limits.maxSessionBytes allow, or this caller has limits.maxSessionsPerPrincipal of them.',
  ),
  'request.cancelled': row(
    -32603,
    200,
    'never',
    'The client has cancelled the request. Only a client that accepts no event stream gets this answer.',
  ),
  'request.limit': row(
    -32603,
    503,
    'same',
    'Too many requests without a session wait for their answers: limits.maxInFlightPerSession of this client, or limits.maxInFlightWithoutSession of all clients.',
  ),
  'parked.limit': row(
    -32603,
    200,
    'unknown-outcome',
    'Too many calls wait for answers of their clients (limits.maxParked, limits.maxParkedPerClient, limits.maxParkedBytes), or calls of disconnected clients use too many bytes (limits.maxKeptBytes, limits.maxKeptBytesPerSession). This call was cancelled.',
  ),
  'session.rate': row(
    -32603,
    429,
    'same',
    'Sessions are opened from this address faster than limits.sessionsPerSecond and limits.sessionBurst allow. Retry-After says when the next one may be opened.',
  ),
  'session.busy': row(
    -32603,
    503,
    'same',
    'The session has limits.maxInFlightPerSession requests that wait for their answers.',
  ),
  'stream.limit': row(-32603, 409, 'same', 'The session has limits.maxStreamsPerSession streams open.'),
  'stream.unknown': row(-32600, 400, 'never', 'Last-Event-ID names no event of this session that is still kept.'),
  'revision.unsupported': row(
    -32600,
    400,
    'never',
    'MCP-Protocol-Version names a revision this endpoint does not speak.',
  ),
  'envelope.invalid': row(
    -32602,
    400,
    'never',
    'The request is of revision 2026-07-28 and lacks metadata that every such request must carry.',
  ),
  'revision.unknown': row(
    -32022,
    400,
    'never',
    'The request is of a revision this endpoint does not speak; data.supported names those it does.',
  ),
  'header.mismatch': row(
    -32020,
    400,
    'never',
    'A header that must repeat a part of the body is missing or differs from it.',
  ),
  'capability.missing': row(
    -32021,
    400,
    'never',
    'The request needs a capability its client did not declare; data.requiredCapabilities names it.',
  ),
  'method.removed': row(-32601, 404, 'never', 'The revision of the request has no such method.'),
  'state.invalid': row(
    -32602,
    200,
    'never',
    'The requestState was not given by this gateway to this caller for this request, or it has expired.',
  ),
  'state.lost': row(
    -32602,
    200,
    'unknown-outcome',
    'The call that waited for these answers is gone with the process of the gateway that held it. The gateway does not repeat it.',
  ),
  'listen.limit': row(
    -32603,
    200,
    'same',
    'Too many subscription streams are open: limits.maxListenersPerClient of this client, or limits.maxListeners of all clients.',
  ),
  'host.forbidden': row(-32600, 403, 'never', 'The Host header is not on the allow-list (DNS rebinding protection).'),
  'origin.forbidden': row(-32600, 403, 'never', 'The Origin header is not on the allow-list.'),
  'auth.required': row(
    -32600,
    401,
    'never',
    'The endpoint serves known callers only: send Authorization: Bearer with a token or an API key, or show a client certificate where the gateway takes those. WWW-Authenticate says where a token is issued.',
  ),
  'auth.invalid': row(
    -32600,
    401,
    'never',
    'The token, API key or certificate is not accepted: it is unknown, has expired, or is meant for another service. The message says which.',
  ),
  'auth.proof': row(
    -32600,
    401,
    'never',
    'The token is bound to a key of its holder, and the request has no proof of that key (DPoP, RFC 9449), or one that is not accepted: for another request, another token, of another key, used before. The message says which.',
  ),
  'auth.nonce': row(
    -32600,
    401,
    'never',
    'The proof (DPoP) needs the nonce of the header DPoP-Nonce; data.dpopNonce has it too. Make another proof with it and send the request again.',
  ),
  'auth.endpoint': row(
    -32600,
    403,
    'never',
    'The API key is valid, but not for this endpoint, or not for the admin port.',
  ),
  'auth.scope': row(
    -32600,
    403,
    'never',
    'The token is valid but lacks a scope that this request needs; data.requiredScopes and the challenge name all that it needs. Sign in again with these.',
  ),
  'auth.unavailable': row(
    -32603,
    503,
    'same',
    'The token cannot be checked now: its issuer does not answer, or too many unknown tokens are being checked.',
  ),
  'caller.unproven': row(
    -32603,
    500,
    'never',
    "A process of the gateway got a request without an edge's valid signature of the caller's identity. All edges and session workers need the same sealing key and the same `auth`.",
  ),
  'auth.query': row(
    -32600,
    400,
    'never',
    'The address contains a token or an API key. Replace it by a new one, since addresses end up in logs, and send that in the Authorization header.',
  ),
  'auth.blocked': row(
    -32600,
    403,
    'never',
    'An administrator of the gateway has blocked the caller, its key or its client (`omnibus blocks`), or the directory of the user has deactivated the user (`auth.scim`).',
  ),
  'http.path_unknown': row(-32600, 404, 'never', 'There is no endpoint at this path.'),
  'http.method_not_allowed': row(-32600, 405, 'never', 'The endpoint takes POST, GET and DELETE.'),
  'http.not_acceptable': row(
    -32600,
    406,
    'never',
    'The Accept header allows neither application/json nor text/event-stream.',
  ),
  'http.invalid': row(
    -32600,
    400,
    'never',
    'What arrived is not an HTTP request that this gateway accepts; the message says why.',
  ),
  'http.timeout': row(-32600, 408, 'same', 'The request did not arrive completely within timeouts.request.'),
  'http.headers_too_large': row(-32600, 431, 'never', 'The request headers are larger than limits.maxHeaderBytes.'),
  'http.expectation': row(-32600, 417, 'never', 'The Expect header asks for something other than 100-continue.'),
  'http.content_encoding': row(-32600, 415, 'never', 'The body has a Content-Encoding. It must be sent uncompressed.'),
  'http.media_type': row(-32600, 415, 'never', 'The body must be application/json.'),
  'limit.rate': row(
    -32603,
    200,
    'same',
    'A rate of limits.rules is reached: data.limit names the rule, data.retryAfterMs says when the request may be sent again. It was not executed.',
  ),
  'limit.concurrency': row(
    -32603,
    200,
    'same',
    'As many calls run as a rule of limits.rules allows at the same time: data.limit names the rule. The request was not executed.',
  ),
  'limit.quota': row(
    -32603,
    200,
    'same',
    'A daily or monthly quota of limits.rules is used up, or the store of quotas does not answer: data.limit names the rule, data.retryAfterMs says when to try again. The request was not executed.',
  ),
  'call.blocked': row(
    -32603,
    200,
    'never',
    'An administrator of the gateway has blocked the tool or server (`omnibus blocks`). Calls that were running were cancelled.',
  ),
  'policy.denied': row(
    -32600,
    200,
    'never',
    'A rule under `access` does not permit this; data.rule names the rule, and data.because gives the reason or a contact.',
  ),
  'flow.unavailable': row(
    -32603,
    200,
    'same',
    'Rules depend on labels of the conversation (`after`), and the gateway cannot read or record them now: the bus does not answer. A request was not sent, or the answer to one is withheld, as the message says.',
  ),
  'policy.undecided': row(
    -32603,
    200,
    'same',
    'The external decision point of the gateway (`access.decisions`) gave no valid decision in time, and so nothing is permitted. The request was not executed.',
  ),
  'guardrail.denied': row(
    -32600,
    200,
    'never',
    'A guardrail has found something in the message that may not be passed on; data.guardrail names it, and data.because says why, where it does. The request was not executed.',
  ),
  'guardrail.withheld': row(
    -32603,
    200,
    'never',
    'The server has answered, and a guardrail does not let the answer pass, or could not look at it; data.guardrail names it. The request was executed.',
  ),
  'guardrail.unavailable': row(
    -32603,
    200,
    'same',
    'A guardrail got no valid verdict in time from its external service; data.guardrail names the guardrail. The request was not executed.',
  ),
  'approval.refused': row(
    -32600,
    200,
    'never',
    'A rule under `access` demands an approval of this call, and the user or the approver refused it; data.rule names the rule. The request was not executed.',
  ),
  'approval.expired': row(
    -32600,
    200,
    'same',
    'A rule under `access` requires an approval of this call, and no approver gave it in time; data.rule names the rule. The request was not executed.',
  ),
  'approval.void': row(
    -32600,
    200,
    'same',
    'The rules, the definition of the tool or the arguments that a profile fixes have changed since the approver saw the call, so the approval does not count. The request was not executed.',
  ),
  'approval.impossible': row(
    -32600,
    200,
    'never',
    'A rule under `access` requires an approval of this call, and no approver can see it: the client does not support forms (elicitation), approvers are not reachable now, or the arguments are too long to show in full. The request was not executed.',
  ),
  'approval.limit': row(
    -32603,
    200,
    'same',
    'As many calls wait for an approval as limits.maxWaitingApprovalsPerCaller allows one caller, or limits.maxWaitingApprovals all callers. The request was not executed.',
  ),
  'audit.unavailable': row(
    -32603,
    503,
    'same',
    'With audit.strict, a call that is not read-only is sent only after an audit record of it is stored, and none could be stored now. The request was not executed.',
  ),
  'code.busy': row(
    -32603,
    200,
    'same',
    'As many scripts run as code.runsPerCaller allows one caller, or code.runs all callers of one session worker. The script was not begun.',
  ),
  'code.lost': row(
    -32603,
    200,
    'unknown-outcome',
    'The process of the gateway that ran the script or composite tool is gone. The gateway does not run it twice; the audit shows the calls that it has made.',
  ),
  'upstream.unavailable': row(-32603, 200, 'same', 'The server is not connected. The request was not executed.'),
  'upstream.paused': row(
    -32603,
    200,
    'same',
    'An administrator of the gateway has paused the server (`omnibus resume` ends that); calls that run there go on. The request was not executed.',
  ),
  'upstream.busy': row(
    -32603,
    200,
    'same',
    'The server has as many running and waiting requests as its `concurrency` and `maxWaiting` allow. The request was not executed.',
  ),
  'upstream.connections': row(
    -32603,
    200,
    'same',
    'The caller needs a connection of its own to the server, and all that maxConnections of the server, limits.maxCallerConnections or limits.maxCallerPrograms allow are in use. The request was not executed.',
  ),
  'upstream.lost': row(
    -32603,
    200,
    'unknown-outcome',
    'The connection to the server broke while the server worked on the request.',
  ),
  'upstream.timeout': row(-32603, 200, 'unknown-outcome', 'The server did not answer within its time limit.'),
  'result.too_large': row(
    -32603,
    200,
    'never',
    'The result is larger than maxResultBytes of its tool or server: data.bytes and data.maxBytes have both sizes. The request was executed; ask for less, such as a page or fewer fields.',
  ),
  'request.timeout': row(
    -32603,
    200,
    'unknown-outcome',
    'The time limit that the client set for the request (Omnibus-Timeout-Ms, dev.omnibus/timeoutMs) has passed.',
  ),
  'upstream.invalid': row(
    -32603,
    200,
    'unknown-outcome',
    'The server answered with something that is not a valid MCP message.',
  ),
  'upstream.caller_fact': row(
    -32603,
    200,
    'never',
    'A header of the server, or an argument of the tool, is filled from a fact about the caller, and this caller has no fact of that name, or one that does not fit there: data.fact names it, and data.header the header. The request was not executed.',
  ),
  'upstream.sign_in': row(
    -32603,
    200,
    'never',
    'The server wants its user to sign in, at the address in data.url. The request was not executed; repeat it after signing in.',
  ),
  'upstream.refused': row(-32603, 200, 'never', 'The server refused the gateway with an HTTP error.'),
  'upstream.later': row(
    -32603,
    200,
    'same',
    'The server takes no more requests for now (HTTP 429 or 503 with `Retry-After`); data.retryAfterMs says when the request may be sent again. It was not executed.',
  ),
  'input.unattributed': row(
    -32603,
    200,
    'never',
    'A server asked a client something, and the gateway cannot tell which client it means. Set `isolation: session` for the server, or make the call again.',
  ),
  'input.limit': row(
    -32603,
    200,
    'same',
    'A server asked the client more questions at the same time than one call may.',
  ),
  'input.timeout': row(
    -32603,
    200,
    'never',
    'The client did not answer a question of the server within timeouts.human.',
  ),
  'question.lost': row(
    -32603,
    410,
    'never',
    'The call in which a server asked this question is gone with the process of the gateway that held it. The answer was not used.',
  ),
  'command.unknown': row(
    -32603,
    503,
    'same',
    'A process of a newer version of the gateway sent one of an older version a command that it does not know.',
  ),
  'gateway.unavailable': row(-32603, 503, 'same', 'No process of the gateway can take the request now.'),
  'gateway.busy': row(
    -32603,
    503,
    'same',
    'Too many bytes of request bodies are being read, from this address (limits.maxPendingBodyBytesPerAddress) or in all (limits.maxPendingBodyBytes). The request was not executed.',
  ),
  'gateway.draining': row(-32603, 503, 'same', 'The gateway is stopping.'),
  'gateway.interrupted': row(
    -32603,
    502,
    'unknown-outcome',
    'The process of the gateway that served the request is gone.',
  ),
  'internal.error': row(
    -32603,
    500,
    'unknown-outcome',
    'A bug in the gateway. The log has the details under the id in data.incident.',
  ),
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

/** The JSON-RPC error of a fault. Programs read `data.reason` and `data.retry`; people read `message`. */
export function toErrorObject(gatewayFault: GatewayFault): JsonRpcErrorObject {
  const { code, retry } = rowOf(gatewayFault.reason);
  return { code, message: gatewayFault.message, data: { reason: gatewayFault.reason, retry, ...gatewayFault.data } };
}

export function httpStatusOf(reason: ErrorReason): number {
  return rowOf(reason).httpStatus;
}

/** The row of a reason. For an unknown reason of a newer version of the gateway, it is the row of a bug. */
function rowOf(reason: ErrorReason): ErrorRow {
  return Object.hasOwn(errorTable, reason) ? errorTable[reason] : errorTable['internal.error'];
}

/** Carries a fault up through code that throws. Any other thrown error is a bug. */
export class GatewayError extends Error {
  readonly fault: GatewayFault;

  constructor(reason: ErrorReason, message?: string, data?: Readonly<Record<string, unknown>>, cause?: unknown) {
    const gatewayFault = fault(reason, message, data);
    super(gatewayFault.message, cause === undefined ? undefined : { cause });
    this.name = 'GatewayError';
    this.fault = gatewayFault;
  }
}
