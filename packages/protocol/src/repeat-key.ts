/**
 * A key by which a client without a session (2026-07-28) proves that it sends a request once more. It makes a random key for a request and sends it in
 * `_meta`; with the same request again, it says so. The gateway then gives it the answer of the first, and the server gets the request once.
 */
import { hash } from 'node:crypto';
import type { SessionKey } from './ids.ts';
import { isObject, type JsonRpcRequest } from './json-rpc.ts';

/** The names of the members under `_meta`. Servers do not get them. */
export const repeatKey = 'dev.omnibus/repeatKey';
export const repeatsKey = 'dev.omnibus/repeats';

/** Milliseconds after the end of its connection in which a client may repeat a request. */
export const repeatMs = 30_000;

/** Long enough that a client cannot guess the key of another one. */
const keyForm = /^[\w.:+/=-]{16,128}$/;

export interface KeyedRequest {
  /** The same for the same request of the same caller, key and endpoint. */
  readonly call: SessionKey;
  /** Whether its client says that it has sent the request before. */
  readonly repeats: boolean;
}

/** A request of a proven caller. */
interface Sent {
  readonly caller: { readonly principal: string; readonly endpoint: string };
  readonly request: JsonRpcRequest;
}

/** @param sent with a key in its `_meta`. */
export function keyedRequest({
  caller: { principal, endpoint },
  request: { id, method, params = {} },
}: Sent): KeyedRequest | { readonly problem: string } {
  const meta = params['_meta'];
  const { [repeatKey]: key, [repeatsKey]: repeats = false, ...others } = isObject(meta) ? meta : {};
  if (typeof key !== 'string' || !keyForm.test(key))
    return {
      problem: `${repeatKey} in params._meta must have 16 to 128 random characters of letters, digits and _.:+/=-`,
    };
  if (typeof repeats !== 'boolean') return { problem: `${repeatsKey} in params._meta must be true or false` };
  const same = [principal, endpoint, key, id, method, { ...params, _meta: others }];
  return { call: hash('sha256', JSON.stringify(same), 'base64url') as SessionKey, repeats };
}
