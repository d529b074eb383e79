/** The form of requests for servers of 2026-07-28, each with its whole context. */
import {
  extensionsFor,
  inputCapabilities,
  isObject,
  latestModernRevision,
  metaKeys,
  type JsonObject,
  type LogLevel,
  type ServerIntroduction,
} from '@omnibus/protocol';
import { clientInfo } from '../client-info.ts';
import type { RequestContext } from '../dialect.ts';

/**
 * The log level for a client with a session that set none. Such a client is sent what its server chooses (2025-11-25 server/utilities/logging), which is
 * everything at most servers; a server of 2026-07-28 sends only requested ones.
 */
const unsetLevel: LogLevel = 'debug';

/** Parameters with the metadata of this hop. Keys for traces and of vendors stay. */
export function modernParams(
  params: JsonObject,
  { capabilities, logLevel, standsAlone }: RequestContext,
  progressToken: number | undefined,
  server: ServerIntroduction | undefined,
): JsonObject {
  const given = params['_meta'];
  const level =
    logLevel ??
    (standsAlone === false && server !== undefined && 'logging' in server.capabilities ? unsetLevel : undefined);
  return {
    ...params,
    _meta: {
      ...(isObject(given) ? given : {}),
      [metaKeys.protocolVersion]: latestModernRevision,
      [metaKeys.clientCapabilities]: modernCapabilities(capabilities, server?.capabilities ?? {}),
      [metaKeys.clientInfo]: clientInfo,
      ...(level === undefined ? {} : { [metaKeys.logLevel]: level }),
      ...(progressToken === undefined ? {} : { progressToken }),
    },
  };
}

/** Capabilities that an older client declared once, in the form in which this revision declares them with each request. */
function modernCapabilities(capabilities: JsonObject, server: JsonObject): JsonObject {
  const { sampling, elicitation, experimental } = capabilities;
  const extensions = extensionsFor(capabilities, server, true);
  return {
    ...(isObject(sampling) ? { sampling } : {}),
    ...(isObject(elicitation)
      ? { elicitation: Object.keys(elicitation).length === 0 ? { form: {} } : elicitation }
      : {}),
    ...(inputCapabilities['roots/list'] in capabilities ? { roots: {} } : {}),
    ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
    ...(isObject(experimental) ? { experimental } : {}),
  };
}
