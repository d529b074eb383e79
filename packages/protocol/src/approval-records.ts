/** The records of calls that wait for an approval (`ask` under `access`). */
import type { Principal, ServerName, WorkerId } from './ids.ts';

export const approvalStates = ['waiting', 'approved', 'refused', 'used', 'expired', 'withdrawn'] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** The approval of one of several approvers. */
export interface ApprovalVote {
  /** `ISSUER|SUBJECT`; one vote of each. */
  readonly person: string;
  /** The approver's name in records. */
  readonly by: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Milliseconds for which this approver allows further calls; left out for this call alone. */
  readonly forMs?: number;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly state: ApprovalState;
  /** The session worker that holds the call. */
  readonly worker: WorkerId;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly until: number;
  readonly rule: string;
  /** The reason that the rule gives (`because`). */
  readonly because?: string;
  readonly server: ServerName;
  /** The kind of target; left out for a tool. */
  readonly kind?: 'prompt' | 'resource';
  /** The server's own name of the tool or prompt, or the URI. */
  readonly tool: string;
  /** The arguments as JSON, as they will be sent to the server; cut where the record is a short one. */
  readonly arguments: string;
  /** Number of characters of tool and arguments that a short record lacks. */
  readonly hidden?: number;
  /** SHA-256 over server, kind, tool, arguments, definition of the tool, caller, rule and expiry. */
  readonly digest: string;
  readonly principal: Principal;
  /** The caller, as far as it is known: `ISSUER|SUBJECT`, followed by those that act for it. */
  readonly who: readonly string[];
  readonly tenant?: string;
  readonly client?: string;
  /** Permitted approvers; left out if all with the role may approve. */
  readonly approvers?: readonly string[];
  /** Number of different approvers that must approve; left out for one. */
  readonly quorum?: number;
  /** The approvals so far, where several are needed. */
  readonly votes?: readonly ApprovalVote[];
  /** Milliseconds for which an approver may allow further calls; left out if each call needs an approval. */
  readonly lasts?: number;
  /** Milliseconds for which the approver has allowed further calls. */
  readonly forMs?: number;
  /** The approver, and the reason. */
  readonly by?: string;
  readonly reason?: string;
}

/** Characters of tool and arguments in a short record. */
const maxShort = 4_000;
const maxShortName = 1_000;

/** A record for lists and for those that keep many: without most of long arguments, which are read one by one. */
export function shortApproval(record: ApprovalRecord): ApprovalRecord {
  const { tool, arguments: args } = record;
  if (tool.length + args.length <= maxShort) return record;
  const [shortTool, shortArgs] = [tool.slice(0, maxShortName), args.slice(0, maxShort - maxShortName)];
  const cut = tool.length - shortTool.length + args.length - shortArgs.length;
  return { ...record, tool: shortTool, arguments: shortArgs, hidden: cut };
}
