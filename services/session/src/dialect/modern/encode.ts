/** Messages for clients of 2026-07-28: results with type, age and sender, and errors with the codes of that revision. */
import type { MissingServer, View } from '@omnibus/catalog';
import {
  isCustomMethod,
  isObject,
  listMethods,
  metaKeys,
  modernCodes,
  modernRevisions,
  tasksExtension,
  wire,
  type ExchangeMethod,
  type JsonObject,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type ListKind,
  type MayHaveBytes,
} from '@omnibus/protocol';
import { endpointCapabilities, serverInfo } from '../capabilities.ts';

const senderMeta = { [metaKeys.serverInfo]: serverInfo };

/** Methods whose results say how long clients may keep them, and how the gateway says that they may not. */
const cached: ReadonlySet<string> = new Set(['resources/read', ...Object.values(listMethods)]);
const uncached = { ttlMs: 0, cacheScope: 'private' } as const;

const methodNotFound = -32_601;
const invalidParams = -32_602;
const legacyNotFound = -32_002;

/** Converts a result of a server of any revision. The gateway becomes the sender, and missing members that this revision requires are added. */
export function modernResult(method: ExchangeMethod, result: JsonObject): JsonObject {
  const meta = isObject(result['_meta']) ? { ...result['_meta'], ...senderMeta } : senderMeta;
  const age = cached.has(method) ? uncached : {};
  return (
    (result as MayHaveBytes)[wire]?.with(result, { resultType: 'complete', ...age }, { _meta: meta }) ?? {
      resultType: 'complete',
      ...age,
      ...result,
      _meta: meta,
    }
  );
}

/**
 * A page of a list, which is JSON already.
 * @param isFirst whether it is the first page, which has members other than the entries.
 * @param reading servers with lists for the client that are still being read.
 */
export function modernList(
  json: string,
  view: View,
  kind: ListKind,
  isFirst: boolean,
  reading: readonly MissingServer[],
): string {
  const { _meta: meta, ...more } = isFirst ? view.head(kind, reading) : {};
  const members = JSON.stringify({
    ...more,
    resultType: 'complete',
    ...view.freshness(kind, Date.now(), reading),
    _meta: { ...(meta as JsonObject | undefined), ...senderMeta },
  });
  return `${members.slice(0, -1)},${json.slice(1)}`;
}

/** The result of `server/discover`: the capabilities of the endpoint and the supported revisions. */
export function discovery(view: View): JsonObject {
  const instructions = view.instructions();
  const extensions = { ...(view.runsTasks ? { [tasksExtension]: {} } : {}), ...view.extensions };
  return {
    resultType: 'complete',
    supportedVersions: modernRevisions,
    capabilities: endpointCapabilities(view, true, extensions),
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: senderMeta,
  };
}

export function inputRequired(inputRequests: JsonObject, requestState: string): JsonObject {
  return { resultType: 'input_required', inputRequests, requestState, _meta: senderMeta };
}

/** The result that ends a subscription, where the gateway ends it (basic/utilities/subscriptions). */
export function subscriptionEnd(id: JsonRpcId): JsonObject {
  return { resultType: 'complete', _meta: { ...senderMeta, [metaKeys.subscriptionId]: id } };
}

/**
 * A server's error, unchanged except for one code: this revision forbids the older code for a missing resource (server/resources, Error
 * Handling). Other codes of older revisions have no meaning here, and are passed on (basic, Error codes).
 */
export function modernError(error: JsonRpcErrorObject): JsonRpcErrorObject {
  return error.code === legacyNotFound ? { ...error, code: invalidParams } : error;
}

/** The HTTP status of an error of a server (2026-07-28 basic/transports, HTTP status codes). */
export function httpStatusOf(method: ExchangeMethod, { code }: JsonRpcErrorObject): number {
  if (code === modernCodes.capabilityMissing) return 400;
  return code === methodNotFound && isCustomMethod(method) ? 404 : 200;
}

/** A question of a server as an entry of `inputRequests`, without members that belong to a connection. */
export function inputRequest(method: string, { task: _task, elicitationId: _id, ...params }: JsonObject): JsonObject {
  const meta = params['_meta'];
  if (!isObject(meta)) return { method, params };
  const { progressToken: _token, ...kept } = meta;
  const { _meta, ...rest } = params;
  return { method, params: Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept } };
}

/** The problem of a client's answer; undefined if it can be passed to the server. */
export function responseProblem(method: string, response: unknown): string | undefined {
  if (!isObject(response)) return 'must be an object';
  switch (method) {
    case 'elicitation/create': {
      if (!['accept', 'decline', 'cancel'].includes(String(response['action'])))
        return 'needs "action": "accept", "decline" or "cancel"';
      return response['content'] === undefined || isObject(response['content'])
        ? undefined
        : '"content" must be an object';
    }
    case 'sampling/createMessage':
      return typeof response['role'] === 'string' &&
        response['content'] !== undefined &&
        typeof response['model'] === 'string'
        ? undefined
        : 'needs "role", "content" and "model"';
    default:
      return Array.isArray(response['roots']) ? undefined : 'needs "roots"';
  }
}
