/** Requests as a server of 2026-07-28 hears them: each with its whole context, repeated in headers where there are any. */
import {
  argumentAt, encodeHeaderValue, inputCapabilities, isObject, latestModernRevision, metaKeys, namedBy, parameterHeaders,
  type JsonObject, type LogLevel,
} from '@omnibus/protocol';
import { clientInfo } from '../client-info.ts';
import type { ServerIntroduction } from '../legacy/handshake.ts';

export interface RequestContext {
  /** What the client on whose behalf it is sent can do. */
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  /** False: it has a session, and may have set a level there. Left out for requests of the gateway's own. */
  readonly standsAlone?: boolean;
}

/**
 * A client with a session that set no level is sent what its server says of itself (2025-11-25 server/utilities/logging), and servers say all;
 * one of 2026-07-28 says nothing that is not asked for.
 */
const unsetLevel: LogLevel = 'debug';

/** Parameters with the metadata of this hop. Keys of trace and vendors stay. */
export function modernParams(params: JsonObject, { capabilities, logLevel, standsAlone }: RequestContext, progressToken: number | undefined, server: ServerIntroduction | undefined): JsonObject {
  const given = params['_meta'];
  const level = logLevel ?? (standsAlone === false && server !== undefined && 'logging' in server.capabilities ? unsetLevel : undefined);
  return {
    ...params,
    _meta: {
      ...(isObject(given) ? given : {}),
      [metaKeys.protocolVersion]: latestModernRevision,
      [metaKeys.clientCapabilities]: modernCapabilities(capabilities),
      [metaKeys.clientInfo]: clientInfo,
      ...(level === undefined ? {} : { [metaKeys.logLevel]: level }),
      ...(progressToken === undefined ? {} : { progressToken }),
    },
  };
}

/** What an older client declared once, as this revision declares it with each request. */
function modernCapabilities(capabilities: JsonObject): JsonObject {
  const { sampling, elicitation, extensions, experimental } = capabilities;
  return {
    ...(isObject(sampling) ? { sampling } : {}),
    ...(isObject(elicitation) ? { elicitation: Object.keys(elicitation).length === 0 ? { form: {} } : elicitation } : {}),
    ...(inputCapabilities['roots/list'] in capabilities ? { roots: {} } : {}),
    ...(isObject(extensions) ? { extensions } : {}),
    ...(isObject(experimental) ? { experimental } : {}),
  };
}

/** @param inputSchema of the tool that is called, which says which arguments are repeated. */
export function modernHeaders(method: string, params: JsonObject, inputSchema: JsonObject | undefined): Record<string, string> {
  const name = namedBy(method, params);
  const annotated = method === 'tools/call' && inputSchema !== undefined ? parameterHeaders(inputSchema) : [];
  const repeated = ('problem' in annotated ? [] : annotated).flatMap((header) => {
    const argument = argumentAt(params['arguments'], header.path);
    return argument === undefined ? [] : [[`mcp-param-${header.name.toLowerCase()}`, encodeHeaderValue(typeof argument === 'string' ? argument : JSON.stringify(argument))]];
  });
  return {
    'mcp-protocol-version': latestModernRevision,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': encodeHeaderValue(name) } : {}),
    ...(Object.fromEntries(repeated) as Record<string, string>),
  };
}
