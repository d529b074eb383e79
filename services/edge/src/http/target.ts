/** The target of a request, and the checks of its Host and Origin, which come before all others. */
import type { IncomingMessage } from 'node:http';
import { isLoopback } from '@omnibus/config';
import { fault, type GatewayFault } from '@omnibus/protocol';

export interface Target {
  /** Path of the request target, with its query. */
  readonly path: string;
  /** Host and port that the client addresses. */
  readonly host: string | undefined;
}

const absoluteForm = /^https?:\/\/([^/?#@]+)([/?][^#]*)?$/i;

/**
 * Reads the target of a request. A target in absolute form is accepted, and its authority replaces the Host header (RFC 9112, 3.2.2). A second Host
 * header is refused, since a proxy may have used the other one (RFC 9112, 3.2).
 */
export function readTarget(request: IncomingMessage): Target | { readonly fault: GatewayFault } {
  const { rawHeaders, url = '/' } = request;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return { fault: fault('http.invalid', 'there is more than one Host header') };
  if (url.startsWith('/') || url === '*') return { path: url, host: request.headers.host };
  const match = absoluteForm.exec(url);
  if (match === null)
    return { fault: fault('http.invalid', 'the request target is neither a path nor an http:// address') };
  const [, host, rest = '/'] = match;
  return { path: rest.startsWith('/') ? rest : `/${rest}`, host };
}

export const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Refuses a Host that is not on the list: a web page with a DNS name rebound to this machine sends its own name (security best practices, DNS rebinding).
 * @param allowedHosts undefined permits any.
 */
export function checkHost(
  host: string | undefined,
  allowedHosts: ReadonlySet<string> | undefined,
): GatewayFault | undefined {
  if (allowedHosts === undefined) return undefined;
  if (host !== undefined && allowedHosts.has(host.replace(/:\d+$/, '').toLowerCase())) return undefined;
  return fault('host.forbidden', 'this Host is not on security.allowedHosts');
}

export interface OriginRule {
  readonly allowed: ReadonlySet<string>;
  /** Whether pages that this machine serves may connect. */
  readonly allowsLoopback: boolean;
}

/** Refuses a foreign Origin with 403 (2025-11-25 transports, Security Warning). A request without the header does not come from a web page. */
export function checkOrigin(origin: string, { allowed, allowsLoopback }: OriginRule): GatewayFault | undefined {
  if (allowed.has(origin) || allowed.has('*')) return undefined;
  if (allowsLoopback && URL.canParse(origin) && isLoopback(new URL(origin).hostname)) return undefined;
  return fault('origin.forbidden', 'this Origin is not on security.allowedOrigins');
}
