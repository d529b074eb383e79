/** Messages of session workers about limits, and the records of quotas, usage and blocks. */
import type { ServerName, WorkerId } from './ids.ts';

/** Counts by the keys of limits: the id of the rule, a space, and the party that shares it. */
type Counts = readonly (readonly [key: string, count: number])[];

/** A message to every session worker, sent every tenth of a second if there is a change. */
export interface LimitsNews {
  readonly kind: 'taken';
  readonly worker: WorkerId;
  /** Tokens taken from rates since the last message; negative if they were returned. */
  readonly taken: Counts;
  /** Number of calls that run at the sender. */
  readonly running: Counts;
  /** Whether `running` is complete. */
  readonly isAll?: boolean;
}

/** The record of one quota for one day or month. */
export interface QuotaRecord {
  /** Leased by workers so far. */
  readonly used: number;
}

/** A caller's use of a tool on one day, at one worker. */
export interface UsageRow {
  /** `ISSUER|SUBJECT`. */
  readonly caller: string;
  readonly tenant?: string;
  readonly groups: readonly string[];
  readonly server: ServerName;
  readonly tool: string;
  readonly calls: number;
  /** Number of calls that failed, at the server or in the gateway. */
  readonly failed: number;
  /** Size of results, in characters of JSON. */
  readonly bytes: number;
}

export interface UsageRecord {
  /** Day in UTC, such as `2026-11-22`. */
  readonly day: string;
  readonly rows: readonly UsageRow[];
}

export const blockKinds = ['user', 'key', 'client', 'tool', 'server'] as const;
export type BlockKind = (typeof blockKinds)[number];

export interface BlockRecord {
  readonly kind: BlockKind;
  /** `ISSUER|SUBJECT`, `key:SUBJECT`, `agent:NAME` or a principal; the id of a key; of a client; `server/tool`; the name of a server. */
  readonly name: string;
  /** The operator that blocked it. */
  readonly by: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly until?: number;
  readonly because?: string;
  /** Of a server: it is paused, so that nothing new is sent to it and what runs there goes on. A version that does not know this blocks the server. */
  readonly isPause?: boolean;
  /** Of a user: the directory of its provider (SCIM) has deactivated or deleted it. A version that does not know this blocks the user. */
  readonly isGone?: boolean;
  /** Of a user that is gone: its name is the same in capital and small letters. */
  readonly isAnyCase?: boolean;
  /** The tenant of a user that is gone; left out for one without a tenant. */
  readonly tenant?: string;
}
