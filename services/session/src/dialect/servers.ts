/** A server's own support for clients of 2026-07-28, depending on its revision. Omnibus does the rest for it. */
import type { View } from '@omnibus/catalog';
import { isModernRevision, type ServerName } from '@omnibus/protocol';

export interface ServerFeatures {
  /**
   * Whether it asks by answering `input_required`, with a `requestState` of its own (2026-07-28 basic/patterns, Multi Round-Trip Requests). A call of any
   * other server stays open between the rounds, and the `requestState` is the gateway's.
   */
  readonly hasRounds: boolean;
  /** Whether it has tasks of the extension `io.modelcontextprotocol/tasks`; those of any other server are tasks of 2025-11-25, and are converted. */
  readonly hasExtensionTasks: boolean;
  /** Whether it gets the log level of a client by a separate method (2025-11-25 server/utilities/logging). */
  readonly hasLogLevels: boolean;
}

const older: ServerFeatures = { hasRounds: false, hasExtensionTasks: false, hasLogLevels: true };
const newer: ServerFeatures = { hasRounds: true, hasExtensionTasks: true, hasLogLevels: false };

/** The features of a server, by its last record in the catalogue. */
export function serverFeatures(view: View, server: ServerName): ServerFeatures {
  return isModernRevision(view.record(server)?.revision) ? newer : older;
}
