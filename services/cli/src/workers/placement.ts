/** Which worker starts the program of a server. */
import { hash } from 'node:crypto';

/**
 * Chooses a slot by rendezvous hashing, so that a server that is added or removed moves no other.
 * @param slots number of workers.
 * @returns the slot, from 0.
 */
export function slotOf(server: string, slots: number): number {
  let [chosen, most] = [0, ''];
  for (let slot = 0; slot < slots; slot += 1) {
    const weight = hash('md5', `${server} ${slot}`);
    if (weight > most) [chosen, most] = [slot, weight];
  }
  return chosen;
}
