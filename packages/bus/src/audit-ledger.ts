/** How long and how much of the audit NATS keeps. */
import type { LedgerDefinition } from './bus.ts';
import { auditLedger } from './subjects.ts';

/** Where the configuration does not say it. */
const defaults = { ms: 90 * 86_400_000, bytes: 1024 ** 3 } as const;

interface LedgerSink {
  /** Milliseconds. */
  readonly keep?: number | undefined;
  readonly keepBytes?: number | undefined;
}

/** @param sink of the configuration; undefined where it names none in NATS. */
export function auditLedgerOf({ keep = defaults.ms, keepBytes = defaults.bytes }: LedgerSink = {}): LedgerDefinition {
  return { ...auditLedger, maxAgeMs: keep, maxBytes: keepBytes };
}
