/** Requests as a server of 2026-07-28 hears them: each with its whole context. */
import { inputCapabilities, isObject, latestModernRevision, metaKeys, type JsonObject, type LogLevel, type ServerIntroduction } from '@omnibus/protocol';
import { clientInfo } from '../client-info.ts';
import type { RequestContext } from '../dialect.ts';

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
