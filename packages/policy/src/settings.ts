/** The rules as an operator writes them, under `access` in the configuration. */
import type { Who } from './who.ts';

/** Annotations of a tool (2025-03-26 server/tools, Tool Annotations). */
export const hints = [
  'readOnly',
  'destructive',
  'nonDestructive',
  'idempotent',
  'openWorld',
  'closedWorld',
  'writes',
] as const;
export type Hint = (typeof hints)[number];

/** Conditions on one argument, all of which have to hold. */
export interface ArgumentSettings {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Exactly one of these. */
  readonly in?: readonly (string | number | boolean | null)[] | undefined;
  /** Of a text, in UTF-16 units; of a list, in items. */
  readonly maxLength?: number | undefined;
  /** Globs, of which a text must match one. */
  readonly pattern?: string | readonly string[] | undefined;
  /** Regular expressions (RE2), of which one must match the whole text. */
  readonly matches?: string | readonly string[] | undefined;
  /** Whether the rule ignores an argument that is left out. By default, leaving it out counts against the caller. */
  readonly optional?: boolean | undefined;
}

export interface TimeSettings {
  /** `mon-fri`, or days one by one. */
  readonly days?: string | readonly string[] | undefined;
  /** `08:00-18:00`, the end excluded; over midnight where it ends before it begins. */
  readonly hours?: string | undefined;
  /** The first moment: a date, or a date with a time such as `2026-12-24T18:00`, in `zone` unless it names its own (`Z`, `+01:00`). */
  readonly from?: string | undefined;
  /** The end, which is excluded; a date alone includes that day. Written like `from`. */
  readonly until?: string | undefined;
  /** An IANA time zone. */
  readonly zone?: string | undefined;
}

export interface RuleSettings {
  readonly id?: string | undefined;
  readonly who: Who;
  readonly except?: Who | undefined;
  readonly allow?: string | readonly string[] | undefined;
  readonly deny?: string | readonly string[] | undefined;
  /** Tools that need an approval of each call. */
  readonly ask?: string | readonly string[] | undefined;
  /** Targets with redacted results, whatever rule allows them. */
  readonly redact?: string | readonly string[] | undefined;
  /** The targets of a guardrail (`guardrails/guardrails.ts`); it neither allows nor denies anything. */
  readonly guard?: string | readonly string[] | undefined;
  /** Targets whose results label the conversation. */
  readonly label?: string | readonly string[] | undefined;
  /** The labels that results of a rule with `label` add. */
  readonly as?: string | readonly string[] | undefined;
  /** Endpoints at which the rule holds, by name; the root endpoint is ''. Default: all. Only of rules that the gateway makes. */
  readonly endpoints?: readonly string[] | undefined;
  /** Whether a rule with `ask` allows nothing itself. Only of rules that the gateway makes. */
  readonly onlyAsks?: boolean | undefined;
  /** The rule holds in a conversation with all of these labels. */
  readonly after?: string | readonly string[] | undefined;
  /** Names of patterns, or patterns of one's own (`redaction/patterns.ts`). */
  readonly patterns?: string | readonly string[] | undefined;
  /** JSON pointers into structured results, in which `*` is any member or item. */
  readonly paths?: string | readonly string[] | undefined;
  /** What happens to content that cannot be searched. Default: it is withheld. */
  readonly unreadable?: 'withhold' | 'pass' | undefined;
  /** The approver. Default: the approvers if some are named, else the caller. */
  readonly by?: 'caller' | 'approvers' | undefined;
  /** `group:NAME`, `key:SUBJECT` or `ISSUER|SUBJECT`; default: all with the role. */
  readonly approvers?: string | readonly string[] | undefined;
  /** Number of different approvers that must approve a call. Default: 1. */
  readonly quorum?: number | undefined;
  /** Milliseconds within which the approval must come. */
  readonly expires?: number | undefined;
  /** Milliseconds for which an approver may allow further calls at most; left out if each call needs an approval. */
  readonly lasts?: number | undefined;
  readonly only?: Hint | readonly Hint[] | undefined;
  readonly args?: Readonly<Record<string, ArgumentSettings>> | undefined;
  readonly time?: TimeSettings | undefined;
  readonly network?: string | readonly string[] | undefined;
  /** A condition in CEL. */
  readonly when?: string | undefined;
  readonly because?: string | undefined;
}

/** A right that callers may ask for. */
export interface GrantSettings {
  readonly id: string;
  readonly who: Who;
  /** The group that its holder counts as a member of, in rules. */
  readonly group?: string | undefined;
  /** Milliseconds at most. */
  readonly lasts: number;
  /** Like those of a rule that asks. */
  readonly approvers?: string | readonly string[] | undefined;
  readonly because?: string | undefined;
}

export interface AccessSettings {
  readonly default: 'allow' | 'deny';
  readonly rules: readonly RuleSettings[];
  readonly grants?: readonly GrantSettings[] | undefined;
}

export interface RuleProblem {
  /** Below `access`: `['rules', 2, 'who']`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}
