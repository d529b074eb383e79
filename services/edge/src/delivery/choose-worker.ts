/** Chooses one of the live workers for a request that any of them can serve. */
import { hash } from 'node:crypto';
import type { SessionKey, WorkerId } from '@omnibus/protocol';

/** A random worker except some. */
export function anyWorker(there: readonly WorkerId[], except: ReadonlySet<WorkerId>): WorkerId | undefined {
  const others = except.size === 0 ? there : there.filter((worker) => !except.has(worker));
  return others[Math.floor(Math.random() * others.length)];
}

/** All workers, in an order that is the same for one session or key at every edge (rendezvous hashing): edges agree, and sessions are spread. */
export function workersFor(key: SessionKey | string, there: readonly WorkerId[]): WorkerId[] {
  return there
    .map((worker) => ({ worker, weight: hash('md5', `${key} ${worker}`) }))
    .sort((a, b) => (a.weight < b.weight ? -1 : 1))
    .map(({ worker }) => worker);
}
