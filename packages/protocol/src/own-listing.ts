/**
 * The wish of a client for a short list of tools (`searchExtension`). Users of many clients can set a header and no capability, so the edge copies the header into the
 * capabilities that the client declares: in `initialize`, or in `_meta` of each request of 2026-07-28.
 */
import { isObject, type JsonObject } from './json-rpc.ts';
import { metaKeys, searchExtension } from './modern.ts';
import type { PostedMessage } from './session-messages.ts';

/** The name of the header, in lower case as Node has it. Its only value is `search`. */
export const listingHeader = 'omnibus-listing';

/** @returns the same message where the header has another value, or the message declares no capabilities. */
export function withOwnListing(posted: PostedMessage, header: unknown): PostedMessage {
  if (header !== 'search' || posted.kind !== 'request') return posted;
  const { message } = posted;
  const { method, params = {} } = message;
  const meta = params['_meta'];
  if (method === 'initialize')
    return { kind: 'request', message: { ...message, params: withExtension(params, 'capabilities') } };
  return isObject(meta) && metaKeys.clientCapabilities in meta
    ? {
        kind: 'request',
        message: { ...message, params: { ...params, _meta: withExtension(meta, metaKeys.clientCapabilities) } },
      }
    : posted;
}

/** @param key of the capabilities. */
function withExtension(of: JsonObject, key: string): JsonObject {
  const capabilities = of[key] ?? {};
  // Capabilities of another form are refused where they are read.
  if (!isObject(capabilities)) return of;
  const { extensions } = capabilities;
  return {
    ...of,
    [key]: { ...capabilities, extensions: { ...(isObject(extensions) ? extensions : {}), [searchExtension]: {} } },
  };
}
