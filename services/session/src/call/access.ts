/** The rights of a caller, for the path of a call. A feature decides (`features/rules`). */
import type { Sight, View } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import type { Policy } from '@omnibus/policy';
import {
  fault,
  type Caller,
  type CatalogRecord,
  type GatewayFault,
  type JsonObject,
  type Labels,
} from '@omnibus/protocol';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { Decided, Wanted } from './permission.ts';
import type { Plan } from './plan.ts';
import type { CallScreen } from './transform.ts';

export interface Access {
  /** The part of a view that the caller may see; undefined where it sees everything. */
  readonly sight: Sight | undefined;
  /** Whether the facts about the caller are still unknown: its first sight is no change. */
  readonly lacksFacts?: true;
  /** The plan with the decision about it, or a refusal in its place. @param given parameters as the client sent them. */
  permitted(plan: Plan, request: AskedRequest, given: JsonObject): Plan;
  /** Decides about a request concerning a task without a plan. @returns the refusal, if any, and the decision. */
  ofTask(task: TaskAddress, request: AskedRequest): TaskPermission;
  /** Decides about a request; logs and counts a refusal. */
  decide(wanted: Wanted): Decided;
  /** The screen for messages of a server about something, other than answers to requests. @param isRedacted false for lists, which rules do not redact. */
  screen(wanted: Wanted, isRedacted?: boolean): CallScreen | undefined;
  /** A part of a result, redacted as the rules require; guardrails are not applied to it. */
  redacted(wanted: Wanted, part: JsonObject): JsonObject;
}

/** What all callers may do and see. */
export interface AccessSource {
  /** @returns undefined for a caller that may see and do everything. */
  readonly of: (caller: Caller) => Access | undefined;
  /** A server's record with its lists and instructions as guardrails leave them; the same where they have nothing to say. */
  guarded(record: CatalogRecord): CatalogRecord;
  /** Whether these rules differ from those in force. */
  isOther(config: Config, policy: Policy | undefined): boolean;
}

export interface AskedRequest {
  readonly method: string;
  readonly view: View;
  /** Labels of the conversation; left out if they are unknown. */
  readonly labels?: Labels | undefined;
}

export interface TaskPermission extends Partial<Decided> {
  readonly refusal?: GatewayFault;
}

/** The refusal of a request for lack of a scope. @param requiredScopes all that the request needs. */
export function withoutScopes(requiredScopes: readonly string[]): GatewayFault {
  return fault('auth.scope', `this needs a token with the scope ${requiredScopes.join(' ')}`, { requiredScopes });
}
