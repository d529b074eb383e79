/** Reads an HTTP refusal: its body may hold the answer to the request, or words about our session. */
import { classify, isSameId, readJson, type JsonRpcErrorObject, type JsonRpcId } from '@omnibus/protocol';
import type { MessageLimits } from './incoming.ts';
import { mended } from './mending.ts';
import { describeRedirect, describeStatus } from './problems.ts';
import type { EndedResponse } from './response-reader.ts';
import { saysSessionGone } from './server-words.ts';
import type { RequestFailure } from './transport.ts';

interface Refused {
  readonly id: JsonRpcId;
  /** The session in which it was sent; undefined for none. */
  readonly sessionId: string | undefined;
  /** Whether the response is the one to a GET, and the POST was accepted. */
  readonly isResumed: boolean;
}

interface RefusedBy {
  readonly limits: MessageLimits;
  readonly url: string;
  /** The present session. */
  readonly session: string | undefined;
}

/** Why a request got no answer that was answered with a redirect or an error of HTTP. */
export function refusalOf(
  response: EndedResponse,
  request: Refused,
  { limits, url, session }: RefusedBy,
): RequestFailure {
  const { status, errorBody } = response;
  const { id, sessionId } = request;
  // Only the answer to the POST itself proves that nothing was executed (2025-11-25 basic/transports, Session Management).
  if (request.isResumed)
    return {
      kind: 'lost',
      problem: `the server took the request, but does not go on with its answer (HTTP ${status})`,
    };
  if (status === 404 && sessionId !== undefined && !answersRequest(errorBody, id, limits))
    return { kind: 'session-gone', problem: 'the server has ended our session', hasNewer: sessionId !== session };
  if (status < 400) return { kind: 'refused', httpStatus: status, problem: describeRedirect(response, 'POST', url) };
  return {
    kind: 'refused',
    httpStatus: status,
    problem: describeStatus(response),
    doubtsSession: doubtsSession(response),
    isChallenge: response.isChallenge,
    retryAfterMs: response.retryAfterMs,
    ...errorIn(errorBody, id, limits),
  };
}

/** Whether a refusal sounds as if the server did not know our session. */
function doubtsSession({ status, errorBody }: EndedResponse): boolean {
  return status === 410 || (status < 500 && saysSessionGone(errorBody));
}

/**
 * Whether a 404 is the answer of a server that knows our session: its error has the request's own id and does not speak of sessions. One tool that answers
 * so must not end the session, which all callers share.
 */
function answersRequest(body: string, id: JsonRpcId, limits: MessageLimits): boolean {
  return !saysSessionGone(body) && errorIn(body, id, limits).hasOwnId === true;
}

/** The JSON-RPC error in the body of a refusal, if there is one. */
function errorIn(
  body: string,
  id: JsonRpcId,
  limits: MessageLimits,
): { readonly error?: JsonRpcErrorObject; readonly isAnswer?: boolean; readonly hasOwnId?: boolean } {
  const read = readJson(body, limits.maxUpstreamMessageBytes, limits);
  if (read.kind === 'refused') return {}; // Not JSON: a proxy's page, or text for people.
  const classified = classify(limits.repairs === undefined ? read.value : mended(read.value, limits.repairs));
  if (classified.kind !== 'response' || classified.message.error === undefined) return {};
  const hasOwnId = isSameId(classified.message.id, id);
  return { error: classified.message.error, isAnswer: classified.message.id === undefined || hasOwnId, hasOwnId };
}
