/** The status of a process at its admin port, and the part of it that an administrator of one tenant sees. */
import { serversFor, type Config, type Role } from '@omnibus/config';
import type { ListKind, RepairRow, UnfitEntry } from '@omnibus/protocol';

/** The status of one process, as `/status` answers it. */
export interface ProcessStatus {
  readonly role: Role;
  readonly version: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly endpoint: string | undefined;
  /** Why the process cannot serve now, for people. */
  readonly problems: readonly string[];
  readonly bus: { readonly kind: 'memory' | 'nats'; readonly isConnected: boolean; readonly reconnects: number };
  readonly sessions?: Readonly<Record<string, number>>;
  /** Invalid entries of servers, with the reason. */
  readonly leftOut?: readonly string[];
  /** The servers, each with the number of backend workers that reach it, as far as this process knows. */
  readonly adapters?: Readonly<Record<string, number>>;
  readonly servers?: readonly {
    readonly server: string;
    readonly status: 'up' | 'down';
    /** Whether it is asleep: disconnected after a time without calls, and connected again by the next call. */
    readonly isAsleep?: true;
    /** Why it is down, or why the lists under `unread` could not be read while it is up. */
    readonly problem: string | undefined;
    /** Lists of a server that is up which could not be read, or not yet to their end; left out where there is none. */
    readonly unread?: readonly ListKind[];
    /** How many users that came have yet to sign in before the server shows them anything, or cannot be called for. */
    readonly wantsSignIn?: number;
    /** Number of users with a connection under a missing key of the vault. */
    readonly unreadable?: number;
    /** How many of its entries are in no list, since they are malformed or too many. */
    readonly leftOut: number;
    /** The first hundred of these, each with its reason; left out where there is none. */
    readonly unfit?: readonly UnfitEntry[];
    /** Repaired violations of the specification; left out if there are none. */
    readonly repairs?: readonly RepairRow[];
    readonly revision: string | undefined;
    readonly tools: number;
    readonly prompts: number;
    readonly resources: number;
    /** Tools, prompts and resource templates that wait to be approved (`definitions: pin`). */
    readonly held: number;
  }[];
}

/** @param tenant the only visible tenant; undefined for a caller that may see everything. */
export function statusFor(status: ProcessStatus, config: Config, tenant: string | undefined): ProcessStatus {
  if (tenant === undefined) return status;
  const { sessions: _ofAll, adapters, servers, leftOut, ...rest } = status;
  const visible = new Set(serversFor(config, tenant));
  return {
    ...rest,
    ...(leftOut === undefined
      ? {}
      : { leftOut: leftOut.filter((line) => visible.has(line.split(':', 1)[0] as string)) }),
    ...(adapters === undefined
      ? {}
      : { adapters: Object.fromEntries(Object.entries(adapters).filter(([server]) => visible.has(server))) }),
    ...(servers === undefined ? {} : { servers: servers.filter(({ server }) => visible.has(server)) }),
  };
}
