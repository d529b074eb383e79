/**
 * The answers of one process to questions about its vault: the names of its keys, the entries that cannot be decrypted, and the switch to another key.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { vaultReport } from '@omnibus/admin-api';
import { z } from 'zod';
import type { VaultOperations, VaultReport } from '@omnibus/credentials';
import type { Question } from './process-desk.ts';

/** Bound on listed entries that cannot be decrypted; the answer has their total number too. */
const maxListed = 500;
/** After this time the answer says that the re-encryption still continues, since the asking process waits six seconds. */
const rotateMs = 5_000;

export type ShownVault = z.output<typeof vaultReport>;

export const rotated = z.object({
  key: z.string().optional(),
  renewed: z.number(),
  lost: z.number(),
  isGoingOn: z.boolean(),
});

/** The state of the vault in the form in which it is sent. */
export function shownVault({ current, keys, makesKeys, lost }: VaultReport): ShownVault {
  const ofUsers = lost.filter(({ place }) => place.purpose === 'connection');
  return {
    ...(current === undefined ? {} : { current }),
    keys: keys.map((key) => ({ ...key })),
    makesKeys,
    lostCount: ofUsers.length,
    lost: ofUsers.slice(0, maxListed).map(({ place: { server, principal }, key, issuer }) => ({
      server,
      principal,
      ...(key === undefined ? {} : { key }),
      ...(issuer === undefined ? {} : { issuer }),
    })),
  };
}

/** A process without a vault, such as one of the role edge, does not answer. */
export function vaultQuestions(vaults: () => VaultOperations | undefined): Readonly<Record<string, Question>> {
  return {
    vault: async () => {
      const report = await vaults()?.report();
      return report === undefined ? undefined : { ...shownVault(report) };
    },
    'vault-rotate': async ({ key }) => {
      const rotating = vaults()?.rotate(typeof key === 'string' ? key : undefined);
      if (rotating === undefined) return undefined;
      const done = await Promise.race([rotating, delay(rotateMs, undefined, { ref: false })]);
      // A failure after that is repaired by the next round.
      if (done === undefined) rotating.catch(() => undefined);
      return done === undefined ? { renewed: 0, lost: 0, isGoingOn: true } : { ...done, isGoingOn: false };
    },
  };
}
