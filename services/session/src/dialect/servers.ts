/** What a server does itself for clients of 2026-07-28, by the revision it speaks. What it does not, Omnibus does for it. */
import type { View } from '@omnibus/catalog';
import { isModernRevision, type ServerName } from '@omnibus/protocol';

export interface ServerFeatures {
  /**
   * It asks by answering `input_required`, and has its own state brought back with the next request (2026-07-28 basic/patterns, Multi Round-Trip
   * Requests). A call of another one stays open between the rounds, and the state that its client brings back is the gateway's.
   */
  readonly hasRounds: boolean;
  /** It serves the tasks of the extension `io.modelcontextprotocol/tasks`; those of another one are tasks of 2025-11-25 and are translated. */
  readonly hasExtensionTasks: boolean;
}

const older: ServerFeatures = { hasRounds: false, hasExtensionTasks: false };
const newer: ServerFeatures = { hasRounds: true, hasExtensionTasks: true };

/** By its last record in the catalogue. */
export function serverFeatures(view: View, server: ServerName): ServerFeatures {
  return isModernRevision(view.record(server)?.revision) ? newer : older;
}
