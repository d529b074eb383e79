/** The error for a request that failed on the way to its server. */
import { fault, numberOf, type GatewayFault, type ServerName } from '@omnibus/protocol';
import type { RequestFailure } from '../transport/transport.ts';
import { isRefusal } from '../transport/trouble.ts';

/** The beginning of a fault's message: a client of many servers must learn which one failed. */
export function subjectOf(server: ServerName): string {
  return `server "${server}": `;
}

export function describeFailure(failure: RequestFailure, server: ServerName): GatewayFault {
  const text = `${subjectOf(server)}${failure.problem}`;
  switch (failure.kind) {
    case 'not-sent':
    case 'session-gone':
      return fault('upstream.unavailable', text, { server });
    case 'refused': {
      const { httpStatus, retryAfterMs } = failure;
      return retryAfterMs === undefined
        ? fault('upstream.refused', text, { server, httpStatus })
        : fault('upstream.later', `${text}; it takes requests again in ${Math.ceil(retryAfterMs / 1_000)} s`, {
            server,
            httpStatus,
            retryAfterMs,
          });
    }
    case 'lost':
      return fault('upstream.lost', text, { server });
    case 'invalid':
      return fault('upstream.invalid', text, { server });
  }
}

/** Whether an HTTP status is about the request and not about the server: a wrong request of one client must not take the server from the others. */
export function isAboutRequest(httpStatus: number): boolean {
  return httpStatus < 500 && httpStatus !== 401 && httpStatus !== 403;
}

/** Whether a fault is a refusal that shows a working server, of a method or session that it does not know. */
export function refusesRequestOnly({ reason, data }: GatewayFault): boolean {
  return isRefusal({ reason }) && isAboutRequest(numberOf(data?.['httpStatus']) ?? 500);
}
