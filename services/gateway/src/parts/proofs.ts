/** Signs and verifies identities of callers between processes; undefined in a gateway of one process, where no other process is on the bus. */
import { Proofs } from '@omnibus/identity';
import type { Part } from '../part.ts';
import { connectedBus } from './bus.ts';

export const callerProofs: Part<Proofs | undefined> = {
  name: 'the proofs of callers',
  start: (host) => {
    const { sealingKeys } = host.options;
    return {
      offers: sealingKeys === undefined || !host.of(connectedBus).isShared ? undefined : new Proofs(sealingKeys),
    };
  },
};
