/** One message on its way between a client and a server, as guardrails look at it, and what one says of it. */
import type { Stage } from '@omnibus/policy';
import type { JsonObject } from '@omnibus/protocol';

export interface ScreenedMessage {
  readonly stage: Stage;
  /** The method that it belongs to (SEP-2624, `InterceptionEvent`). */
  readonly event: string;
  readonly phase: 'request' | 'response';
}

/** The verdict of a guardrail. `failed`: it could not inspect the message. */
export type Verdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny'; readonly because?: string | undefined }
  | { readonly kind: 'change'; readonly payload: JsonObject }
  | { readonly kind: 'label'; readonly labels: readonly string[] }
  | { readonly kind: 'failed'; readonly problem: string };

export interface Label {
  readonly guardrail: string;
  readonly label: string;
}

/** Largest answer of a webhook or tool, in bytes: an answer that changes a message contains the whole changed message. */
export const maxAnswerBytes = 4 * 1_024 * 1_024;
