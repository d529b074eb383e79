/**
 * The records of rights that approvers give for a time: further calls after one approval (`lasts` of a rule with `ask`), and grants that callers have asked
 * for (`access.grants`).
 */
import type { Principal, ServerName } from './ids.ts';

export const grantStates = ['requested', 'active', 'refused', 'withdrawn', 'ended'] as const;
type GrantState = (typeof grantStates)[number];

/** Further calls that one approval covers. */
export interface CallGrant {
  /** The rule that asked, and its digest: a changed rule ends the grant. */
  readonly rule: string;
  readonly version: string;
  readonly server: ServerName;
  /** Left out for a tool. */
  readonly kind?: 'prompt' | 'resource';
  /** The server's own name of the tool or prompt, or the URI. */
  readonly tool: string;
  /** SHA-256 of the tool's definition: a changed definition ends the grant. */
  readonly definition: string;
}

/** A grant under `access.grants`. */
export interface AccessGrant {
  readonly name: string;
  /** The digest of its definition: a changed definition ends the grant. */
  readonly version: string;
  /** Milliseconds that the caller asked for; the approver may give less. */
  readonly forMs: number;
}

export interface GrantRecord {
  /** Of further calls: the id of the approval. */
  readonly id: string;
  /** A record stays `active` after `until`; readers compare the time. */
  readonly state: GrantState;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The end; of a `requested` one, the time until which an approver may decide. */
  readonly until: number;
  readonly principal: Principal;
  /** `ISSUER|SUBJECT` of the caller, followed by the agents that act for it. */
  readonly who: readonly string[];
  readonly tenant?: string;
  /** The client that the caller used: a grant does not cover another one. */
  readonly client?: string;
  readonly calls?: CallGrant;
  readonly access?: AccessGrant;
  /** The reason of the caller that asked. */
  readonly because?: string;
  /** Permitted approvers; left out if all with the role may approve. */
  readonly approvers?: readonly string[];
  /** The approver, and the reason. */
  readonly by?: string;
  readonly reason?: string;
  /** The person that ended it before its time. */
  readonly endedBy?: string;
}
