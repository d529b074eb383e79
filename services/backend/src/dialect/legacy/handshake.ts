/** Opening a session with a server of a legacy revision (lifecycle, Initialization). */
import { isObject, isLegacyRevision, latestLegacyRevision, printable, type JsonObject, type Revision } from '@omnibus/protocol';
import { clientInfo } from '../../client-info.ts';

export interface ServerIntroduction {
  readonly revision: Revision;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
}

/** @param capabilities what the clients on whose behalf the connection is opened declared. */
export function initializeParams(capabilities: JsonObject): JsonObject {
  return { protocolVersion: latestLegacyRevision, capabilities, clientInfo };
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
