/** The audit trail of this process; undefined without `audit` in the configuration. */
import type { AuditTrail } from '@omnibus/audit';
import { openAudit } from '../audit.ts';
import type { Part } from '../part.ts';
import { connectedBus } from './bus.ts';

export const auditing: Part<AuditTrail | undefined> = {
  name: 'the audit',
  async start(host) {
    const { baseFolder, role } = host.options;
    const { config, metrics } = host;
    const log = host.log.child({ part: 'audit' });
    const trail = await openAudit({ config, baseFolder, role, bus: host.of(connectedBus), metrics, log });
    return { offers: trail, stop: async () => trail?.close() };
  },
};
