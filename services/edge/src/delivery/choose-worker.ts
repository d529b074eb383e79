/** Which of the workers that are there is asked for something that any of them could do. */
import { hash } from 'node:crypto';
import type { SessionKey, WorkerId } from '@omnibus/protocol';

/** Any of them but these. */
export function anyWorker(there: readonly WorkerId[], except: ReadonlySet<WorkerId>): WorkerId | undefined {
  const others = except.size === 0 ? there : there.filter((worker) => !except.has(worker));
  return others[Math.floor(Math.random() * others.length)];
}

/** All of them, in an order that is the same for one session wherever it is asked for (rendezvous hashing): edges agree, and sessions spread. */
export function workersFor(key: SessionKey, there: readonly WorkerId[]): WorkerId[] {
  return there.map((worker) => ({ worker, weight: hash('md5', `${key} ${worker}`) })).sort((a, b) => (a.weight < b.weight ? -1 : 1)).map(({ worker }) => worker);
}
