/** What a client is told of a request that failed on the way to its server. */
import { fault, type GatewayFault, type ServerName } from '@omnibus/protocol';
import type { RequestFailure } from '../transport/transport.ts';

/** The beginning of a fault's message: a client of many servers must be told which one failed. */
export function subjectOf(server: ServerName): string {
  return `server "${server}": `;
}

export function describeFailure(failure: RequestFailure, server: ServerName): GatewayFault {
  const text = `${subjectOf(server)}${failure.problem}`;
  switch (failure.kind) {
    case 'not-sent':
    case 'session-gone':
      return fault('upstream.unavailable', text, { server });
    case 'refused':
      return fault('upstream.refused', text, { server, httpStatus: failure.httpStatus });
    case 'lost':
      return fault('upstream.lost', text, { server });
    case 'invalid':
      return fault('upstream.invalid', text, { server });
  }
}
