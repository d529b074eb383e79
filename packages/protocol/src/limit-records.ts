/** What session workers tell each other of limits, and what is kept of quotas, of what callers used, and of who is blocked. */
import type { ServerName, WorkerId } from './ids.ts';

/** By what keys of limits: the id of the rule, a space, and who shares it. */
type Counts = readonly (readonly [key: string, count: number])[];

/** For every session worker, every tenth of a second in which there is something to say. */
export interface LimitsNews {
  readonly kind: 'taken';
  readonly worker: WorkerId;
  /** Taken of rates since it was said last; negative: given back. */
  readonly taken: Counts;
  /** How many calls run there. */
  readonly running: Counts;
  /** Nothing else runs there. */
  readonly isAll?: boolean;
}

/** What is kept of one quota for one day or month. */
export interface QuotaRecord {
  /** Leased by workers so far. */
  readonly used: number;
}

/** What a caller used of a tool in a day, at one worker. */
export interface UsageRow {
  /** `ISSUER|SUBJECT`. */
  readonly caller: string;
  readonly tenant?: string;
  readonly groups: readonly string[];
  readonly server: ServerName;
  readonly tool: string;
  readonly calls: number;
  /** Those of them that failed, at the server or on the way. */
  readonly failed: number;
  /** Of results, in characters of JSON. */
  readonly bytes: number;
}

export interface UsageRecord {
  /** `2026-11-22`, of UTC. */
  readonly day: string;
  readonly rows: readonly UsageRow[];
}

export const blockKinds = ['user', 'key', 'client', 'tool', 'server'] as const;
export type BlockKind = (typeof blockKinds)[number];

export interface BlockRecord {
  readonly kind: BlockKind;
  /** `ISSUER|SUBJECT`, `key:SUBJECT` or a principal; the id of a key; of a client; `server/tool`; the name of a server. */
  readonly name: string;
  /** Who said so. */
  readonly by: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly until?: number;
  readonly because?: string;
}
