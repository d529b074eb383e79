/** Initializing a server of a revision up to 2025-11-25 (lifecycle, Initialization). */
import {
  isEmptyList,
  isObject,
  isLegacyRevision,
  oldDraft,
  spokenRevision,
  printable,
  type JsonObject,
  type JsonRpcErrorObject,
  type LegacyRevision,
  type RepairCounts,
  type ServerIntroduction,
} from '@omnibus/protocol';
import { clientInfo } from '../client-info.ts';

/** @param capabilities declared by the clients for which the connection is opened. */
export function initializeParams(capabilities: JsonObject, protocolVersion: LegacyRevision): JsonObject {
  return { protocolVersion, capabilities, clientInfo };
}

/**
 * The revisions that a server names when it refuses one: with -32022 (2026-07-28 basic/versioning), with -32602 (lifecycle, Error Handling), or with any
 * other code that servers use; a list in that place can mean nothing else.
 */
export function namedRevisions({ data }: JsonRpcErrorObject): readonly string[] | undefined {
  const supported = isObject(data) ? data['supported'] : undefined;
  return Array.isArray(supported) ? supported.filter((revision) => typeof revision === 'string') : undefined;
}

/** Characters of a server's revision that a problem shows. */
const maxNamed = 60;

/**
 * @param repairs undefined where nothing is repaired.
 * @throws {Error} that says in words why the gateway cannot talk to this server.
 */
export function readIntroduction(result: JsonObject, repairs?: RepairCounts): ServerIntroduction {
  const { protocolVersion, instructions } = result;
  const capabilities = repairs !== undefined && isEmptyList(result['capabilities']) ? {} : result['capabilities'];
  if (capabilities !== result['capabilities']) repairs?.note('empty-object', 'capabilities');
  const revision =
    isLegacyRevision(protocolVersion) || repairs !== undefined ? spokenRevision(protocolVersion) : undefined;
  if (protocolVersion === oldDraft) repairs?.note('old-draft', 'the answer to initialize');
  if (revision === undefined)
    throw new Error(
      `the server speaks revision ${printable(JSON.stringify(protocolVersion) ?? 'undefined', maxNamed)}, which this gateway does not`,
    );
  if (!isObject(capabilities)) throw new Error('the answer to initialize has no "capabilities"');
  return {
    revision,
    capabilities,
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}
