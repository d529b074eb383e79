/** Audit records of requests of clients. */
import type { Audit } from '@omnibus/audit';
import type { Config } from '@omnibus/config';
import type { Proofs } from '@omnibus/identity';
import type { Metrics } from '@omnibus/telemetry';
import type { SessionFeature } from '../../feature.ts';
import { CallRecords } from './records.ts';

export interface AuditOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly proofs: Proofs | undefined;
}

export function audit(records: Audit, { config, metrics, proofs }: AuditOptions): SessionFeature {
  const watcher = new CallRecords({ audit: records, proofs, unsafe: () => metrics.audit.refusals.inc() });
  watcher.servers = config.mcpServers;
  return {
    name: 'audit',
    watchers: [watcher],
    apply: ({ mcpServers }) => {
      watcher.servers = mcpServers;
    },
  };
}
