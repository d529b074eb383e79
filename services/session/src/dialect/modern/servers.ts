import type { View } from '@omnibus/catalog';
import { isModernRevision, type ServerName } from '@omnibus/protocol';

/** Whether a server speaks 2026-07-28: what it says reaches clients of that revision nearly as it is. */
export function isModernServer(view: View, server: ServerName): boolean {
  return isModernRevision(view.record(server)?.revision);
}
