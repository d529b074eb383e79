/** Stores the tokens that a refresh token was used for. The refresh token before is good no more, so these are stored as soon as the store can be reached again. */
import { setTimeout as delay } from 'node:timers/promises';
import { connectionAt, type Connection } from './sign-in.ts';
import type { Place } from './vault/envelope.ts';
import type { Vault } from './vault/vault.ts';

interface Refreshed {
  readonly vault: Vault;
  readonly place: Place;
  readonly fresh: Connection;
  /** Revision of the record with the mark of the attempt. */
  readonly leased: number;
  /** The attempt. */
  readonly by: string;
}

const [firstPauseMs, longestPauseMs] = [100, 5_000];
/** Longer than a usual repair of a bus or a disk. */
const maxAwayMs = 10 * 60_000;

/**
 * A record that still has the mark of the attempt was only encrypted again meanwhile (`Vault.rotate`).
 * @returns false when another process has changed it.
 * @throws {Error} when the store could not be reached for ten minutes.
 */
export async function storeRefreshed(refreshed: Refreshed): Promise<boolean> {
  const giveUpAt = performance.now() + maxAwayMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await written(refreshed);
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await delay(pauseMs, undefined, { ref: false });
    }
  }
}

async function written({ vault, place, fresh, leased, by }: Refreshed): Promise<boolean> {
  for (let revision: number | undefined = leased; revision !== undefined;) {
    if ((await vault.update(place, fresh.issuer, fresh, revision)) !== undefined) return true;
    const now = connectionAt(await vault.get<Connection>(place), fresh.url);
    // A change without a confirmation may still have succeeded.
    if (now?.value.tokens?.accessToken === fresh.tokens?.accessToken && fresh.tokens !== undefined) return true;
    revision = now?.value.refreshing?.by === by ? now.revision : undefined;
  }
  return false;
}
