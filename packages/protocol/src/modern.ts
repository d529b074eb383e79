/** What 2026-07-28 puts into every request and result (basic, Protocol Metadata): the names, and how a request is read. */
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

/** The extension of tasks that are polled (extension `io.modelcontextprotocol/tasks`). */
export const tasksExtension = `${prefix}tasks`;
/** The extension of skills (extension `io.modelcontextprotocol/skills`). */
export const skillsExtension = `${prefix}skills`;
/** Extensions whose methods and fields the gateway carries. What is not here is not promised to anyone. */
export const carriedExtensions: readonly string[] = [tasksExtension, `${prefix}ui`, skillsExtension];

/** The same for clients with sessions: tasks of the extension are followed by the gateway in their place. */
export const sessionExtensions: readonly string[] = carriedExtensions.filter((name) => name !== tasksExtension);

/** JSON-RPC codes of 2026-07-28. */
export const modernCodes = { headerMismatch: -32_020, capabilityMissing: -32_021, revisionUnsupported: -32_022 } as const;

/** What one request says of its client. */
export interface ModernContext {
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
}

/** The revision a message claims to be of; undefined for one that claims none, which an older client sends. */
export function claimedRevision(params: JsonObject | undefined): { readonly value: unknown } | undefined {
  const meta = params?.['_meta'];
  return isObject(meta) && metaKeys.protocolVersion in meta ? { value: meta[metaKeys.protocolVersion] } : undefined;
}

/** Reads the metadata every request must carry, or says what is wrong with it. */
export function readModernContext({ params }: JsonRpcRequest): ModernContext | { readonly problem: string } {
  const meta = params?.['_meta'];
  if (!isObject(meta)) return { problem: 'params._meta is missing' };
  if (typeof meta[metaKeys.protocolVersion] !== 'string') return { problem: `params._meta["${metaKeys.protocolVersion}"] must be a string` };
  const capabilities = meta[metaKeys.clientCapabilities];
  if (!isObject(capabilities)) return { problem: `params._meta["${metaKeys.clientCapabilities}"] must be an object` };
  const logLevel = meta[metaKeys.logLevel];
  if (logLevel !== undefined && !isLogLevel(logLevel)) return { problem: `params._meta["${metaKeys.logLevel}"] must be a log level` };
  return { capabilities, logLevel };
}

/** Parameters without what belongs to this hop alone: the next one says it for itself. Trace and vendor keys stay. */
export function withoutHopMeta(params: JsonObject): JsonObject {
  const meta = params['_meta'];
  if (!isObject(meta)) return params;
  const kept = Object.fromEntries(Object.entries(meta).filter(([key]) => key !== 'progressToken' && !(Object.values(metaKeys) as string[]).includes(key)));
  const { _meta, ...rest } = params;
  return Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept };
}

/** Whether one request's capabilities declare an extension. */
export function declaresExtension(capabilities: JsonObject, name: string): boolean {
  const { extensions } = capabilities;
  return isObject(extensions) && isObject(extensions[name]);
}

/** What `Mcp-Name` repeats of a request; undefined where the header is not sent. */
export function namedBy(method: string, params: JsonObject | undefined): unknown {
  const row = methodRow(method);
  return row?.isNamedInHeader === true && row.names !== undefined ? params?.[row.names] : undefined;
}
