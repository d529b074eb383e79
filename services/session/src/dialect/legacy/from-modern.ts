/** Converts messages of servers of 2026-07-28 for clients of the revisions with sessions. */
import {
  errorResult,
  isObject,
  metaKeys,
  modernCodes,
  type ExchangeMethod,
  type JsonObject,
  type JsonRpcErrorObject,
} from '@omnibus/protocol';
import type { ServerAnswer } from '../dialect.ts';

const internalError = -32_603;
const invalidParams = -32_602;
const resourceNotFound = -32_002;

/** Removes members of a result that only the newer revision has. @param wrapsOutput whether the list shows the tool's output wrapped in an object. */
export function plainResult(result: JsonObject, wrapsOutput: boolean): JsonObject {
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, _meta: meta, ...plain } = result;
  const { structuredContent } = plain;
  const isWrapped = structuredContent !== undefined && (wrapsOutput || !isObject(structuredContent));
  const kept = isObject(meta) ? withoutOwnKeys(meta) : undefined;
  return {
    ...plain,
    ...(isWrapped
      ? { structuredContent: { result: structuredContent }, content: withText(plain['content'], structuredContent) }
      : {}),
    ...(kept === undefined ? {} : { _meta: kept }),
  };
}

function withoutOwnKeys(meta: JsonObject): JsonObject | undefined {
  const { [metaKeys.serverInfo]: _server, [metaKeys.subscriptionId]: _subscription, ...kept } = meta;
  return Object.keys(kept).length === 0 ? undefined : kept;
}

/** Adds the structured content as text if there is no other content, for clients that do not use it. */
function withText(content: unknown, structured: unknown): unknown {
  return Array.isArray(content) && content.length > 0 ? content : [{ type: 'text', text: JSON.stringify(structured) }];
}

/** Converts an error with a code of the newer revision. */
export function plainModernError(method: ExchangeMethod, error: JsonRpcErrorObject): ServerAnswer {
  switch (error.code) {
    case invalidParams:
      return {
        kind: 'error',
        error:
          method === 'resources/read' && isObject(error.data) && 'uri' in error.data
            ? { ...error, code: resourceNotFound }
            : error,
      };
    case modernCodes.capabilityMissing:
      if (method === 'tools/call')
        return {
          kind: 'result',
          result: errorResult(`${error.message} (the client lacks a capability the tool needs)`),
        };
      return { kind: 'error', error: { ...error, code: internalError } };
    case modernCodes.headerMismatch:
    case modernCodes.revisionUnsupported:
      return { kind: 'error', error: { code: internalError, message: error.message } };
    default:
      return { kind: 'error', error };
  }
}
