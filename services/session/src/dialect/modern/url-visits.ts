/** An older server refuses a call until its user has been to some addresses (2025-11-25 client/elicitation); a client of 2026-07-28 is asked to go there. */
import { isObject, urlElicitationRequired, type JsonObject } from '@omnibus/protocol';

/** How often a server may want addresses visited before one call. */
const maxRounds = 8;

/**
 * @param error that the server answered.
 * @param capabilities that the client declared.
 * @param round how often the client was asked for this call before.
 * @returns what the client is asked (`inputRequests`); undefined when the error means something else, or the client cannot be asked that.
 */
export function urlVisits({ code, data }: JsonObject, { elicitation }: JsonObject, round: number): JsonObject | undefined {
  if (code !== urlElicitationRequired || !isObject(data) || !Array.isArray(data['elicitations'])) return undefined;
  if (!isObject(elicitation) || !isObject(elicitation['url']) || round >= maxRounds) return undefined;
  const requests = data['elicitations'].filter(isObject).map(({ message, url }, index) => [`url_${index + 1}`, { method: 'elicitation/create', params: { mode: 'url', message, url } }]);
  return Object.fromEntries(requests) as JsonObject;
}

/** Whether the user has been everywhere. @param inputResponses as the client brings them. */
export function areVisited(inputResponses: unknown): boolean {
  const responses = isObject(inputResponses) ? Object.values(inputResponses) : [];
  return responses.length > 0 && responses.every((response) => isObject(response) && response['action'] === 'accept');
}
