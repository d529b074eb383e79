/** The metadata that 2026-07-28 adds to every request and result (basic, Protocol Metadata): names, and reading them. */
import { conversationKey } from './conversations.ts';
import { repeatKey, repeatsKey } from './repeat-key.ts';
import { isObject, type JsonObject, type JsonRpcRequest } from './json-rpc.ts';
import { methodRow } from './method-table.ts';
import { isLogLevel, type LogLevel } from './methods.ts';

const prefix = 'io.modelcontextprotocol/';

/** Keys under `_meta`. */
export const metaKeys = {
  protocolVersion: `${prefix}protocolVersion`,
  clientCapabilities: `${prefix}clientCapabilities`,
  clientInfo: `${prefix}clientInfo`,
  logLevel: `${prefix}logLevel`,
  subscriptionId: `${prefix}subscriptionId`,
  serverInfo: `${prefix}serverInfo`,
} as const;

const modernKeys: ReadonlySet<string> = new Set([...Object.values(metaKeys), repeatKey, repeatsKey, conversationKey]);
const hopKeys: ReadonlySet<string> = new Set([...modernKeys, 'progressToken']);

/** The extension of tasks that are polled (extension `io.modelcontextprotocol/tasks`). */
export const tasksExtension = `${prefix}tasks`;
/** The extension of skills (extension `io.modelcontextprotocol/skills`). */
export const skillsExtension = `${prefix}skills`;
/** An extension of the gateway: a client that declares it is shown few tools, by which it finds the others. No server is told of it. */
export const searchExtension = 'dev.omnibus/search';
/** The extension of pages that show results (extension `io.modelcontextprotocol/ui`). */
const pagesExtension = `${prefix}ui`;
/** Extensions that the gateway knows: the gateway reports a client's to servers of 2026-07-28, whether or not they declare them too. */
const knownExtensions: readonly string[] = [tasksExtension, pagesExtension, skillsExtension];
/** The same for older servers: published servers with pages ask for the client's extension, and declare none (extension `io.modelcontextprotocol/ui`, Server Behavior). */
const knownToOlder: readonly string[] = [pagesExtension];
/** Bound on extensions of one client or server. */
const maxExtensions = 32;
/** A name has a prefix (2026-07-28 basic, Extensions); longer ones are ignored. */
const extensionName = /^[\w.-]{1,100}\/[\w.-]{1,100}$/;

/** The extensions that a client or server declares, each with its settings: those with a sound name, in the order of names. */
export function extensionsOf({ extensions }: JsonObject): Readonly<Record<string, JsonObject>> {
  if (!isObject(extensions)) return {};
  const sound = Object.entries(extensions).filter(
    (entry): entry is [string, JsonObject] => extensionName.test(entry[0]) && isObject(entry[1]),
  );
  return Object.fromEntries(sound.toSorted(([one], [other]) => (one < other ? -1 : 1)).slice(0, maxExtensions));
}

/**
 * The extensions of a client that a server gets: those that the server declares too, and those that the gateway knows.
 * @param server its capabilities.
 * @param isModern whether it speaks 2026-07-28.
 */
export function extensionsFor(
  client: JsonObject,
  server: JsonObject,
  isModern: boolean,
): Readonly<Record<string, JsonObject>> {
  const known = isModern ? knownExtensions : knownToOlder;
  const declared = extensionsOf(server);
  return Object.fromEntries(
    Object.entries(extensionsOf(client)).filter(([name]) => known.includes(name) || Object.hasOwn(declared, name)),
  );
}

/** JSON-RPC codes of 2026-07-28. */
export const modernCodes = {
  headerMismatch: -32_020,
  capabilityMissing: -32_021,
  revisionUnsupported: -32_022,
} as const;

/** The properties of the client that one request declares. */
export interface ModernContext {
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
}

/** The revision that a message claims; undefined for a message without one, which an older client sends. */
export function claimedRevision(params: JsonObject | undefined): { readonly value: unknown } | undefined {
  const meta = params?.['_meta'];
  return isObject(meta) && metaKeys.protocolVersion in meta ? { value: meta[metaKeys.protocolVersion] } : undefined;
}

/**
 * Whether a result ends its request: it holds the requested value, and neither a running task (2025-11-25 basic/utilities/tasks) nor a demand for
 * input (2026-07-28 basic/patterns, Multi Round-Trip Requests).
 */
export function isComplete(result: JsonObject): boolean {
  const { task, resultType } = result;
  return task === undefined && (resultType === undefined || resultType === 'complete');
}

/** Reads the metadata that every request must have. @returns the problem, when some is missing or invalid. */
export function readModernContext({ params }: JsonRpcRequest): ModernContext | { readonly problem: string } {
  const meta = params?.['_meta'];
  if (!isObject(meta)) return { problem: 'params._meta is missing' };
  if (typeof meta[metaKeys.protocolVersion] !== 'string')
    return { problem: `params._meta["${metaKeys.protocolVersion}"] must be a string` };
  const capabilities = meta[metaKeys.clientCapabilities];
  if (!isObject(capabilities)) return { problem: `params._meta["${metaKeys.clientCapabilities}"] must be an object` };
  const logLevel = meta[metaKeys.logLevel];
  if (logLevel !== undefined && !isLogLevel(logLevel))
    return { problem: `params._meta["${metaKeys.logLevel}"] must be a log level` };
  return { capabilities, logLevel };
}

/** Parameters without the metadata that concern one hop only; the next hop has its own. Trace context and keys of vendors stay. */
export function withoutHopMeta(params: JsonObject): JsonObject {
  return withoutModernMeta(params, hopKeys);
}

/**
 * Removes what a request of 2026-07-28 says of itself in `_meta`. The progress token stays, which concerns the call that the request begins.
 * @param keys what is removed, if it is more than that.
 */
export function withoutModernMeta(params: JsonObject, keys = modernKeys): JsonObject {
  const meta = params['_meta'];
  if (!isObject(meta)) return params;
  const kept: (readonly [string, unknown])[] = [];
  for (const key of Object.keys(meta)) if (!keys.has(key)) kept.push([key, meta[key]]);
  const { _meta, ...rest } = params;
  return kept.length === 0 ? rest : { ...rest, _meta: Object.fromEntries(kept) };
}

/** Whether one request's capabilities declare an extension. */
export function declaresExtension(capabilities: JsonObject, name: string): boolean {
  const { extensions } = capabilities;
  return isObject(extensions) && isObject(extensions[name]);
}

/** The value that `Mcp-Name` repeats for a request; undefined where the header is not sent. */
export function namedBy(method: string, params: JsonObject | undefined): unknown {
  const row = methodRow(method);
  return row?.isNamedInHeader === true && row.names !== undefined ? params?.[row.names] : undefined;
}
