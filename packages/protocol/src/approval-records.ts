/** What is kept of calls that wait for an approval (`ask` under `access`), for those who approve. */
import type { Principal, ServerName, WorkerId } from './ids.ts';

export const approvalStates = ['waiting', 'approved', 'refused', 'used', 'expired', 'withdrawn'] as const;
export type ApprovalState = (typeof approvalStates)[number];

export interface ApprovalRecord {
  readonly id: string;
  readonly state: ApprovalState;
  /** The session worker that holds the call. */
  readonly worker: WorkerId;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly until: number;
  readonly rule: string;
  /** What the rule says of itself. */
  readonly because?: string;
  readonly server: ServerName;
  /** The server's own name. */
  readonly tool: string;
  /** The arguments as JSON, as the server is to have them; cut where they are long. */
  readonly arguments: string;
  /** Characters of them that are not shown. */
  readonly hidden?: number;
  /** SHA-256 over server, tool, arguments, caller, rule and expiry. */
  readonly digest: string;
  readonly principal: Principal;
  /** Who asks, as far as it is known: `ISSUER|SUBJECT`, and those who act for him. */
  readonly who: readonly string[];
  readonly tenant?: string;
  readonly client?: string;
  /** Those who may approve; left out where whoever has the role may. */
  readonly approvers?: readonly string[];
  /** Who has decided, and why. */
  readonly by?: string;
  readonly reason?: string;
}
