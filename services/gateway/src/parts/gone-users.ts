/** Ends the connections of removed users to servers (`connect/gone-users.ts`). */
import type { Part } from '../part.ts';
import { ownAuthorization, servesClients } from './authorization.ts';
import { connectedBus } from './bus.ts';

export const goneUsers: Part = {
  name: 'the search for removed users',
  isIn: servesClients,
  async start(host) {
    const { openGoneUsers } = await import('@omnibus/connect/sites');
    const authorization = host.of(ownAuthorization);
    const log = host.log.child({ role: 'edge' });
    const gone = openGoneUsers({ authorization, bus: host.of(connectedBus), log, config: () => host.config });
    if (gone !== undefined) authorization?.onRemoved((user) => void gone.removed(user));
    void gone?.look();
    return { offers: undefined, stop: () => gone?.stop() };
  },
};
