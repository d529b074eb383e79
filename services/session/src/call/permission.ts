/** The target of a request, and the decision about it. */
import type { Decision, Target } from '@omnibus/policy';
import type { JsonObject, Labels, ServerName } from '@omnibus/protocol';
import type { CallScreen } from './transform.ts';

/** The target of a request, under its server's own name. */
export interface Wanted {
  readonly kind: Target['kind'];
  readonly server: ServerName;
  readonly name: string;
  readonly method: string;
  /** Arguments of a tool or prompt, as they are sent to the server. */
  readonly args?: JsonObject | undefined;
  /** Definition of a tool by its server. */
  readonly entry?: JsonObject | undefined;
  /** Set for a permitted running action, such as a task (`Circumstances`). */
  readonly isBegun?: true | undefined;
  /** Labels of the conversation; left out if they are unknown (`Circumstances`). */
  readonly labels?: Labels | undefined;
}

/** The decision of the rules about one request, which its record names too. */
export interface Permission extends Omit<Decision, 'redaction'> {
  /** Whether decisions are only recorded and nothing is refused (`access.mode: record`). */
  readonly isRecorded: boolean;
  /** The version of the rules that decided. */
  readonly policy?: string | undefined;
  /** All scopes that the request needs, where it is refused since its token lacks one. */
  readonly missingScopes?: readonly string[] | undefined;
}

/** What becomes of a request. */
export interface Decided {
  readonly permission: Permission;
  /** Redacts and guards the messages of the request; undefined where nothing must be looked for in them. */
  readonly screen?: CallScreen | undefined;
}
