/** An older server refuses a call until its user has visited some addresses (2025-11-25 client/elicitation); a client of 2026-07-28 gets a request to visit them. */
import { isObject, urlElicitationRequired, type JsonObject, type JsonRpcErrorObject } from '@omnibus/protocol';

/** Number of times that a server may require visits before one call. */
const maxRounds = 8;

/**
 * @param error of the server.
 * @param capabilities that the client declared.
 * @param round number of earlier requests for this call.
 * @returns `inputRequests` for the client; undefined if the error means something else, or the client accepts no questions.
 */
export function urlVisits(
  { code, data }: Pick<JsonRpcErrorObject, 'code' | 'data'>,
  { elicitation }: JsonObject,
  round: number,
): JsonObject | undefined {
  if (code !== urlElicitationRequired || !isObject(data) || !Array.isArray(data['elicitations'])) return undefined;
  if (!isObject(elicitation) || !isObject(elicitation['url']) || round >= maxRounds) return undefined;
  const requests = data['elicitations']
    .filter(isObject)
    .map(({ message, url }, index) => [
      `url_${index + 1}`,
      { method: 'elicitation/create', params: { mode: 'url', message, url } },
    ]);
  return Object.fromEntries(requests) as JsonObject;
}

/** Whether the user has visited all addresses. @param inputResponses of the client's request. */
export function areVisited(inputResponses: unknown): boolean {
  const responses = isObject(inputResponses) ? Object.values(inputResponses) : [];
  return responses.length > 0 && responses.every((response) => isObject(response) && response['action'] === 'accept');
}
