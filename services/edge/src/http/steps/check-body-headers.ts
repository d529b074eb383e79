import type { IncomingHttpHeaders } from 'node:http';
import { fault, type GatewayFault } from '@omnibus/protocol';
import { isJsonMediaType } from './read-accept.ts';

/** Refuses a body by its headers, before it is read. @param maxBytes bound of a body. */
export function checkBodyHeaders(headers: IncomingHttpHeaders, maxBytes: number): GatewayFault | undefined {
  if (!isJsonMediaType(headers['content-type'])) return fault('http.media_type');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') return fault('http.content_encoding');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return fault('http.invalid', 'the only transfer coding taken is chunked');
  if (Number(headers['content-length'] ?? 0) <= maxBytes) return undefined;
  return fault('message.too_large', `the body is larger than ${maxBytes} bytes`, { maxBytes });
}
