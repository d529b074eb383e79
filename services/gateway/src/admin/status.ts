/** What a process says of itself at its admin port, and how much of it whoever looks after one tenant sees. */
import { serversFor, type Config } from '@omnibus/config';
import type { Role } from '../compose.ts';

/** What one process says of itself at `/status`. */
export interface ProcessStatus {
  readonly role: Role;
  readonly version: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly endpoint: string | undefined;
  /** What keeps it from serving, in words. */
  readonly problems: readonly string[];
  readonly bus: { readonly kind: 'memory' | 'nats'; readonly isConnected: boolean; readonly reconnects: number };
  /** By state. */
  readonly sessions?: Readonly<Record<string, number>>;
  /** What servers offer and clients cannot be shown, with the reason. */
  readonly leftOut?: readonly string[];
  /** Servers, with the number of backend workers that calls of clients may go to, as far as this process knows by now. */
  readonly adapters?: Readonly<Record<string, number>>;
  readonly servers?: readonly {
    readonly server: string;
    readonly status: 'up' | 'down';
    /** Nobody has called it for so long that nothing is connected to it: the next call is. */
    readonly isAsleep?: true;
    readonly problem: string | undefined;
    /** It shows nothing to whom it does not know: so many users who came have not signed in. */
    readonly wantsSignIn?: number;
    /** Entries it offers that are in no list, because they do not fit or are too many. */
    readonly leftOut: number;
    readonly revision: string | undefined;
    readonly tools: number;
    readonly prompts: number;
    readonly resources: number;
    /** Tools, prompts and resource templates that wait to be approved (`definitions: pin`). */
    readonly held: number;
  }[];
}

/** @param tenant of which everything may be seen, and of others nothing; undefined for whoever may see all. */
export function statusFor(status: ProcessStatus, config: Config, tenant: string | undefined): ProcessStatus {
  if (tenant === undefined) return status;
  const { sessions: _ofAll, adapters, servers, leftOut, ...rest } = status;
  const visible = new Set(serversFor(config, tenant));
  return {
    ...rest,
    ...(leftOut === undefined ? {} : { leftOut: leftOut.filter((line) => visible.has(line.split(':', 1)[0] as string)) }),
    ...(adapters === undefined ? {} : { adapters: Object.fromEntries(Object.entries(adapters).filter(([server]) => visible.has(server))) }),
    ...(servers === undefined ? {} : { servers: servers.filter(({ server }) => visible.has(server)) }),
  };
}
