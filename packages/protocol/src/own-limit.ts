/**
 * A time limit that a client requests for one call, bounded by the limit of the server. Over HTTP it may come in a header, which the edge copies into the
 * request, so that later code has one place to read. It is for the gateway, and is not passed on.
 */
import { isObject, type JsonObject } from './json-rpc.ts';
import type { PostedMessage } from './session-messages.ts';

/** The name of the header, in lower case as Node has it. */
export const ownLimitHeader = 'omnibus-timeout-ms';
/** The name of the member under `_meta`. */
export const ownLimitKey = 'dev.omnibus/timeoutMs';

/** @returns milliseconds; undefined where the client requests none. */
export function readOwnLimit(params: JsonObject): number | undefined | { readonly problem: string } {
  const meta = params['_meta'];
  if (!isObject(meta) || !(ownLimitKey in meta)) return undefined;
  const limitMs = meta[ownLimitKey];
  return isLimit(limitMs)
    ? limitMs
    : {
        problem: `the time limit of a request (${ownLimitKey} in params._meta, or the header ${ownLimitHeader}) must be a whole number of milliseconds from 1`,
      };
}

/**
 * Copies the limit of the header into the message. The shorter of two limits counts; an invalid one stays, so that the reader of limits refuses it.
 */
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
