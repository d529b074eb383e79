/** Requests as a server of 2026-07-28 hears them: each with its whole context, repeated in headers where there are any. */
import {
  argumentAt, encodeHeaderValue, inputCapabilities, isObject, latestModernRevision, metaKeys, namedBy, parameterHeaders,
  type JsonObject, type LogLevel,
} from '@omnibus/protocol';
import { clientInfo } from '../../client-info.ts';

export interface RequestContext {
  /** What the client on whose behalf it is sent can do. */
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
}

/** Parameters with the metadata of this hop. Keys of trace and vendors stay. */
export function modernParams(params: JsonObject, { capabilities, logLevel }: RequestContext, progressToken: number | undefined): JsonObject {
  const given = params['_meta'];
  return {
    ...params,
    _meta: {
      ...(isObject(given) ? given : {}),
      [metaKeys.protocolVersion]: latestModernRevision,
      [metaKeys.clientCapabilities]: modernCapabilities(capabilities),
      [metaKeys.clientInfo]: clientInfo,
      ...(logLevel === undefined ? {} : { [metaKeys.logLevel]: logLevel }),
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
