import type { IncomingMessage } from 'node:http';
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
