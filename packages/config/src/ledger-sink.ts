import type { Config } from './schema.ts';

/** The sink of the audit in NATS; undefined where the configuration names none. */
export function ledgerSinkOf({ audit }: Config): NonNullable<Config['audit']>['sinks'][number] | undefined {
  return audit?.sinks.find(({ kind }) => kind === 'jetstream');
}
