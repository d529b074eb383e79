/** Reads the body of an HTTP refusal: it may hold the answer to the request, or words about our session. */
import { classify, isSameId, readJson, type JsonRpcErrorObject, type JsonRpcId } from '@omnibus/protocol';
import type { MessageLimits } from './incoming.ts';
import { mended } from './mending.ts';
import type { EndedResponse } from './response-reader.ts';
import { saysSessionGone } from './server-words.ts';

/** Whether a refusal sounds as if the server did not know our session. */
export function doubtsSession({ status, errorBody }: EndedResponse): boolean {
  return status === 410 || (status < 500 && saysSessionGone(errorBody));
}

/**
 * Whether a 404 is the answer of a server that knows our session: its error has the request's own id and does not speak of sessions. One tool that answers
 * so must not end the session, which all callers share.
 */
export function answersRequest(body: string, id: JsonRpcId, limits: MessageLimits): boolean {
  return !saysSessionGone(body) && errorIn(body, id, limits).hasOwnId === true;
}

/** The JSON-RPC error in the body of a refusal, if there is one. */
export function errorIn(
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
