import type { IncomingMessage } from 'node:http';
import { isLoopback } from '@omnibus/config';
import { fault, type GatewayFault } from '@omnibus/protocol';

export interface OriginRule {
  readonly allowed: ReadonlySet<string>;
  /** Whether pages that this machine serves may connect. */
  readonly allowsLoopback: boolean;
}

/** Refuses a foreign Origin with 403 (2025-11-25 transports, Security Warning). A request without the header does not come from a web page. */
export function checkOrigin(
  request: IncomingMessage,
  { allowed, allowsLoopback }: OriginRule,
): GatewayFault | undefined {
  const { origin } = request.headers;
  if (origin === undefined || allowed.has(origin) || allowed.has('*')) return undefined;
  if (allowsLoopback && URL.canParse(origin) && isLoopback(new URL(origin).hostname)) return undefined;
  return fault('origin.forbidden', 'this Origin is not on security.allowedOrigins');
}
