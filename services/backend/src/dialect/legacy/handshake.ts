/** Opening a session with a server of a legacy revision (lifecycle, Initialization). */
import { isObject, isLegacyRevision, printable, type JsonObject, type JsonRpcErrorObject, type LegacyRevision, type ServerIntroduction } from '@omnibus/protocol';
import { clientInfo } from '../client-info.ts';

/** @param capabilities what the clients on whose behalf the connection is opened declared. */
export function initializeParams(capabilities: JsonObject, protocolVersion: LegacyRevision): JsonObject {
  return { protocolVersion, capabilities, clientInfo };
}

/**
 * The revisions a server names where it refuses one: with -32022 (2026-07-28 basic/versioning), with -32602 (lifecycle, Error Handling),
 * and with whatever else servers say; what is named in that place can mean nothing else.
 */
export function namedRevisions({ data }: JsonRpcErrorObject): readonly string[] | undefined {
  const supported = isObject(data) ? data['supported'] : undefined;
  return Array.isArray(supported) ? supported.filter((revision) => typeof revision === 'string') : undefined;
}

/** Of what a server calls its revision, in a problem. */
const maxNamed = 60;

/** @throws {Error} that says, for a person, why we cannot talk to this server. */
export function readIntroduction(result: JsonObject): ServerIntroduction {
  const { protocolVersion, capabilities, instructions } = result;
  if (!isLegacyRevision(protocolVersion)) throw new Error(`the server speaks revision ${printable(JSON.stringify(protocolVersion) ?? 'undefined', maxNamed)}, which this gateway does not`);
  if (!isObject(capabilities)) throw new Error('the answer to initialize has no "capabilities"');
  return { revision: protocolVersion, capabilities, instructions: typeof instructions === 'string' ? instructions : undefined };
}
