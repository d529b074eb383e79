import type { IncomingMessage, ServerResponse } from 'node:http';
import { listingHeader, ownLimitHeader } from '@omnibus/protocol';

/** Adds the CORS headers that let a page read the answer. Its origin has been checked. */
export function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('vary', 'origin');
  response.setHeader(
    'access-control-expose-headers',
    'mcp-session-id, mcp-protocol-version, www-authenticate, dpop-nonce',
  );
}

export function answerPreflight(response: ServerResponse): void {
  response.setHeader('access-control-allow-methods', 'POST, GET, DELETE');
  // `*` stands for any header where no credentials are sent; parameters of tools have headers of their own (2026-07-28).
  response.setHeader(
    'access-control-allow-headers',
    `*, accept, authorization, content-type, dpop, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, ${listingHeader}, ${ownLimitHeader}`,
  );
  response.setHeader('access-control-max-age', '86400');
  response.writeHead(204).end();
}
