/**
 * Checks the addresses that servers ask users to open (2025-11-25 and 2026-07-28 client/elicitation, URL mode). Since a client may open them with one
 * click, only web pages are passed on: https, and http on the user's own machine.
 */
import type { ExchangeOutcome } from './exchange.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import { urlElicitationRequired } from './methods.ts';

const loopback = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** @param params of an `elicitation/create`. @returns the problem of its address; undefined when there is none, or no address. */
export function urlProblem({ mode, url }: JsonObject): string | undefined {
  if (mode !== 'url' && url === undefined) return undefined;
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  if (parsed === null) return 'the address of an elicitation must be a URL';
  const passes = parsed.protocol === 'https:' || (parsed.protocol === 'http:' && loopback.test(parsed.hostname));
  return passes && parsed.username === '' && parsed.password === ''
    ? undefined
    : 'the address of an elicitation must be https, or http on this machine, without a user name';
}

/** The same check for the end of a call: an error that requires elicitations, or a result of 2026-07-28 that requires input. */
export function outcomeUrlProblem(outcome: ExchangeOutcome): string | undefined {
  if (outcome.kind === 'error') {
    const { code, data } = outcome.error;
    const elicitations = code === urlElicitationRequired && isObject(data) ? data['elicitations'] : undefined;
    return Array.isArray(elicitations) ? first(elicitations.filter(isObject)) : undefined;
  }
  if (
    outcome.kind !== 'result' ||
    outcome.result['resultType'] !== 'input_required' ||
    !isObject(outcome.result['inputRequests'])
  )
    return undefined;
  return first(
    Object.values(outcome.result['inputRequests'])
      .filter(isObject)
      .filter(({ method }) => method === 'elicitation/create')
      .map(({ params }) => params)
      .filter(isObject),
  );
}

function first(elicitations: readonly JsonObject[]): string | undefined {
  return elicitations.map(urlProblem).find((problem) => problem !== undefined);
}
