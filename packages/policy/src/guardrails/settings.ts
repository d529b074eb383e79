/** The settings of guardrails, under `guardrails` in the configuration. */
import type { RuleSettings } from '../settings.ts';

/**
 * The messages that a guardrail checks. `requests`: those of clients to servers, with answers to questions. `results`: those of servers, with progress
 * and log messages. `questions`: requests of servers to clients. `lists`: entries of lists, and instructions.
 */
export const stages = ['requests', 'results', 'questions', 'lists'] as const;
export type Stage = (typeof stages)[number];

/** `change`: the found text is removed. `label`: the message passes with a label. */
export type GuardrailAction = 'deny' | 'change' | 'label';

/** Kinds of invisible characters (`hidden.ts`). */
export const hiddenKinds = ['tags', 'zeroWidth', 'bidi', 'selectors', 'control'] as const;
export type HiddenKind = (typeof hiddenKinds)[number];

/** Bounds in characters of JSON; for `text`, of each single text in a message. */
export interface SizeSettings {
  readonly arguments?: number | undefined;
  readonly result?: number | undefined;
  readonly text?: number | undefined;
}

export interface UrlSettings {
  /** Globs over host names. */
  readonly hosts: readonly string[];
  /** Checks only addresses that a client loads without a question to the user: those of images. */
  readonly only?: 'images' | undefined;
}

export interface WebhookSettings {
  readonly url: string;
  /** HTTP headers of the request. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface GuardrailSettings extends Pick<
  RuleSettings,
  'except' | 'only' | 'args' | 'time' | 'network' | 'when' | 'because'
> {
  readonly id: string;
  readonly who?: RuleSettings['who'] | undefined;
  readonly what: string | readonly string[];
  readonly on?: Stage | readonly Stage[] | undefined;
  /** Exactly one of the following seven is required: a check, or an external service. */
  readonly size?: SizeSettings | undefined;
  readonly patterns?: string | readonly string[] | undefined;
  readonly hidden?: 'all' | HiddenKind | readonly HiddenKind[] | undefined;
  readonly urls?: UrlSettings | undefined;
  readonly markers?: true | undefined;
  readonly webhook?: WebhookSettings | undefined;
  /** Tool that gives the verdict: `server/tool`. */
  readonly tool?: string | undefined;
  readonly action?: GuardrailAction | undefined;
  readonly unreadable?: 'withhold' | 'pass' | undefined;
  readonly label?: string | undefined;
  readonly mode: 'enforce' | 'record';
  /** Milliseconds that an external check may take. */
  readonly timeout?: number | undefined;
  /** What happens to a message when the external check fails. */
  readonly onFailure?: 'deny' | 'allow' | undefined;
  /** Bound on simultaneous checks at one worker. */
  readonly concurrency?: number | undefined;
  /** Sent with each external check. */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}
