/** The media types of a POST's body and of its accepted answers. */
import type { IncomingHttpHeaders } from 'node:http';
import { fault, type GatewayFault } from '@omnibus/protocol';

export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

/**
 * The media types that the client accepts. Clients must name both (transports, Sending Messages); the gateway also serves those that name one or none. What
 * has the weight 0 is refused (RFC 9110, 12.4.2).
 */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined) return { json: true, events: false };
  if (header.includes('application/json') && header.includes('text/event-stream') && !header.includes(';'))
    return { json: true, events: true };
  const refused = new Map<string, boolean>();
  for (const part of header.toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((each) => each.trim());
    if (type !== '')
      refused.set(
        type,
        parameters.some((each) => /^q=0(\.0{0,3})?$/.test(each)),
      );
  }
  /** The most specific range decides. */
  const takes = (...ranges: readonly string[]): boolean => {
    const range = ranges.find((each) => refused.has(each));
    return range !== undefined && refused.get(range) === false;
  };
  return {
    json: takes('application/json', 'application/*', '*/*'),
    events: takes('text/event-stream', 'text/*', '*/*'),
  };
}

/** Whether a header names JSON; parameters and case do not matter. */
function isJsonMediaType(header: string | undefined): boolean {
  if (header === undefined) return false;
  return header.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** Refuses a body by its headers, before it is read. @param maxBytes bound of a body. */
export function checkBodyHeaders(headers: IncomingHttpHeaders, maxBytes: number): GatewayFault | undefined {
  const type = headers['content-type'];
  if (type !== 'application/json' && !isJsonMediaType(type)) return fault('http.media_type');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') return fault('http.content_encoding');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return fault('http.invalid', 'the only transfer coding taken is chunked');
  if (Number(headers['content-length'] ?? 0) <= maxBytes) return undefined;
  return fault('message.too_large', `the body is larger than ${maxBytes} bytes`, { maxBytes });
}
