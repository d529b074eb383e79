/** The gateway's own authorization server; undefined without `auth.server` in the configuration. */
import type { AuthorizationServer } from '@omnibus/authorization';
import type { Part, PartHost } from '../part.ts';
import { auditing } from './audit.ts';
import { blocking } from './blocks.ts';
import { connectedBus } from './bus.ts';
import { directories } from './directories.ts';

/** Whether a process serves clients over HTTP. */
export const servesClients = (host: PartHost): boolean => host.has('edge') && host.options.isServing;

export const ownAuthorization: Part<AuthorizationServer | undefined> = {
  name: 'the authorization server',
  isIn: servesClients,
  async start(host) {
    const { openAuthorization } = await import('../authorization.ts');
    const { baseFolder, sealingKeys } = host.options;
    const authorization = await openAuthorization({
      config: () => host.config,
      baseFolder,
      bus: host.of(connectedBus),
      sealingKeys,
      metrics: host.metrics,
      audit: host.of(auditing),
      blocks: host.of(blocking),
      directory: host.of(directories),
      log: host.log.child({ role: 'edge' }),
    });
    return { offers: authorization, stop: async () => authorization?.close() };
  },
};
