/**
 * A time limit that a client brings for one request, bounded by those of the server. Over HTTP it may come in a header, which the edge
 * writes into the request, so that the rest of the gateway looks in one place. It is said to the gateway, and not passed on.
 */
import { isObject, type JsonObject } from './json-rpc.ts';
import type { PostedMessage } from './session-messages.ts';

/** The name of the header, in lower case as Node has it. */
export const ownLimitHeader = 'omnibus-timeout-ms';
/** The name of the member under `_meta`. */
export const ownLimitKey = 'dev.omnibus/timeoutMs';

/** @returns milliseconds; undefined where none is brought. */
export function readOwnLimit(params: JsonObject): number | undefined | { readonly problem: string } {
  const meta = params['_meta'];
  if (!isObject(meta) || !(ownLimitKey in meta)) return undefined;
  const limitMs = meta[ownLimitKey];
  return isLimit(limitMs) ? limitMs : { problem: `the time limit of a request (${ownLimitKey} in params._meta, or the header ${ownLimitHeader}) must be a whole number of milliseconds from 1` };
}

/** The message with the limit of its header in it. Of two, the shorter counts; what is no limit is left to be refused where it would count. */
export function withOwnLimit(posted: PostedMessage, header: unknown): PostedMessage {
  if (header === undefined || posted.kind !== 'request') return posted;
  const { message } = posted;
  const { params = {} } = message;
  const meta = params['_meta'] ?? {};
  if (!isObject(meta)) return posted;
  const said = typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : header;
  const before = meta[ownLimitKey];
  const counts = before === undefined || !isLimit(said) || (isLimit(before) && said < before) ? said : before;
  return { kind: 'request', message: { ...message, params: { ...params, _meta: { ...meta, [ownLimitKey]: counts } } } };
}

function isLimit(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
