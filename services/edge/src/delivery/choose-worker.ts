/** Chooses one of the live workers for a request that any of them can serve. */
import { hash } from 'node:crypto';
import type { PresenceWatch } from '@omnibus/bus';
import type { Presence, SessionKey, WorkerId } from '@omnibus/protocol';

/** The workers to choose from. */
export type WorkersThere = Pick<PresenceWatch<Presence>, 'here' | 'near' | 'alive'>;

/**
 * A worker except some, as near as possible: the worker of this process, else a random one of this region, else any. Each worker of `serve --workers`
 * gets its share of the connections, so their work is even, and a request to another one passes the supervisor in both directions.
 */
export function nearestWorker(workers: WorkersThere, except: ReadonlySet<WorkerId>): WorkerId | undefined {
  const here = workers.here(workers.alive);
  return here !== undefined && !except.has(here)
    ? here
    : (anyWorker(workers.near, except) ?? anyWorker(workers.alive, except));
}

/** A random worker except some. */
function anyWorker(there: readonly WorkerId[], except: ReadonlySet<WorkerId>): WorkerId | undefined {
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
