/** Audit records of requests of clients. */
import type { Audit } from '@omnibus/audit';
import type { Config } from '@omnibus/config';
import type { Proofs } from '@omnibus/identity';
import type { ServerName } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { SessionFeature } from '../../feature.ts';
import { CallRecords } from './records.ts';
import { whoOf } from './who.ts';

export interface AuditOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly proofs: Proofs | undefined;
}

export function audit(records: Audit, { config, metrics, proofs }: AuditOptions): SessionFeature {
  let servers = config.mcpServers;
  return {
    name: 'audit',
    watchers: [
      new CallRecords({
        audit: records,
        isPinned: (server: ServerName) => servers[server]?.definitions === 'pin',
        whoOf: (caller) => whoOf(caller, proofs),
        unsafe: () => metrics.audit.refusals.inc(),
      }),
    ],
    apply: ({ mcpServers }) => {
      servers = mcpServers;
    },
  };
}
