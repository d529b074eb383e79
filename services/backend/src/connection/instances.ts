/** The connections of a pool by their keys, and which of them is meant. */
import type { Principal, SessionKey } from '@omnibus/protocol';
import type { UpstreamConnection } from './connection.ts';
import type { Instance } from './instance.ts';

type Judge = (connection: UpstreamConnection) => boolean;

export class Instances extends Map<string, Instance> {
  get connections(): UpstreamConnection[] {
    return [...this.values()].map(({ connection }) => connection);
  }

  /** Those that carry something for a session. */
  of(session: SessionKey): UpstreamConnection[] {
    return [...this.values()].filter(({ user }) => user === session).map(({ connection }) => connection);
  }

  /** Number of connections with this prefix of their keys. */
  countOf(beginning: string): number {
    return [...this.keys()].filter((key) => key.startsWith(beginning)).length;
  }

  inNameOf(principal: Principal): Instance[] {
    return [...this.values()].filter((each) => each.principal === principal);
  }

  /** Sessions that have connections of their own. */
  get sessions(): SessionKey[] {
    return [...this.values()].flatMap(({ session }) => session ?? []);
  }

  /** Those that may serve a user's request, the one that is there for longest first. */
  ofUser(pool: string, roots: string | undefined): Instance[] {
    return [...this.values()].filter(
      (each) => each.pool === pool && (each.connection.asked.roots ?? each.roots) === roots,
    ); // I3
  }

  /** Of those that requests of this pool may use, the one this request used before, or one that is free. @param mayServe another request than before. */
  free(pool: string | undefined, user: string, mayServe: Judge): Instance | undefined {
    if (pool === undefined) return undefined;
    let free: Instance | undefined;
    for (const instance of this.values()) {
      if (instance.pool !== pool) continue;
      if (instance.user === user) return instance;
      if (instance.calls === 0 && mayServe(instance.connection)) free = instance;
    }
    if (free !== undefined) free.user = user;
    return free;
  }

  longestIdle(isNeeded: Judge): Instance | undefined {
    let oldest: Instance | undefined;
    for (const instance of this.values()) {
      if (
        instance.calls > 0 ||
        (oldest !== undefined && oldest.lastUsedAt <= instance.lastUsedAt) ||
        isNeeded(instance.connection)
      )
        continue;
      oldest = instance;
    }
    return oldest;
  }
}
