/**
 * Protects the admin port from other sites' web pages. The `Host` is checked before (`admin-server.ts`): with a name that was rebound to this
 * machine, a browser sends neither `Sec-Fetch-Site` nor a foreign `Origin`. There are no cookies, which would be sent to every port of a host, and no CORS.
 */
import type { IncomingMessage } from 'node:http';
import { changeHeader } from '@omnibus/admin-api';
import { ApiProblem } from './api-problem.ts';

/** Headers of every answer. */
const always = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;
export const apiHeaders = {
  ...always,
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
} as const;

/** @throws {ApiProblem} for a request that another site's page has sent, or could have sent. */
export function refuseForeign({ headers, method = '' }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new ApiProblem('origin', 'a page of another site asked for this');
  if (headers.origin !== undefined && !isOwn(headers.origin, headers.host))
    throw new ApiProblem('origin', 'a page of another origin asked for this');
  if (method === 'GET' || method === 'HEAD') return;
  if (headers[changeHeader] === undefined)
    throw new ApiProblem('header', `a change carries the header ${changeHeader}`, `add ${changeHeader}: 1`);
  const type = headers['content-type'];
  if (type !== undefined && !/^application\/json\s*(;|$)/i.test(type))
    throw new ApiProblem('header', 'what is sent is application/json');
}

/** Compares origins without their schemes, since a proxy in front may speak TLS where this port does not. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
}
