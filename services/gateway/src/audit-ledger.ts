/** The audit in NATS, as the configuration wants it kept. */
import { auditLedger, type LedgerDefinition } from '@omnibus/bus';
import type { Config } from '@omnibus/config';

type Sink = NonNullable<Config['audit']>['sinks'][number];

/** How long and how much of the audit NATS keeps where the configuration does not say it. */
const defaults = { ms: 90 * 86_400_000, bytes: 1024 ** 3 } as const;

/** The sink in NATS; undefined where the configuration names none. */
export function ledgerSinkOf({ audit }: Config): Sink | undefined {
  return audit?.sinks.find(({ kind }) => kind === 'jetstream');
}

export function auditLedgerOf(sink: Pick<Sink, 'keep' | 'keepBytes'> | undefined): LedgerDefinition {
  const { keep = defaults.ms, keepBytes = defaults.bytes } = sink ?? {};
  return { ...auditLedger, maxAgeMs: keep, maxBytes: keepBytes };
}
