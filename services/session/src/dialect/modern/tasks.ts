import type { JsonObject } from '@omnibus/protocol';

/** Converts a task of 2025-11-25 to the extension `io.modelcontextprotocol/tasks`. */
export function extensionTask({ ttl, pollInterval, ...task }: JsonObject): JsonObject {
  return { ...task, ttlMs: ttl ?? null, ...(pollInterval === undefined ? {} : { pollIntervalMs: pollInterval }) };
}
