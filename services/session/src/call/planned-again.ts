/** Compares the plan of a call that had to wait with its present plan. */
import { canonical, type JsonObject } from '@omnibus/protocol';
import type { CallStream, ForwardedCall } from './client-port.ts';
import type { Plan } from './plan.ts';

/** A call with its plan, by the rules, lists and definitions of one moment. */
export interface Planned<Stream extends CallStream = CallStream> {
  readonly call: ForwardedCall<Stream>;
  readonly plan: Plan;
}

/** The server's definition of the tool that is called; undefined for anything else. */
export function definitionOf({ call, plan }: Planned): JsonObject | undefined {
  return 'tool' in plan && plan.tool !== undefined ? call.view.toolOf(plan.server, plan.tool) : undefined;
}

/** Whether the present plan of a call equals the earlier one: at the same server, with the same parameters, of a tool with the same definition, after the same approval. */
export function isUnchanged(now: Planned, then: Planned): boolean {
  return (
    isSamePlace(now.plan, then.plan) &&
    paramsOf(now.plan) === paramsOf(then.plan) &&
    canonical(definitionOf(now) ?? null) === canonical(definitionOf(then) ?? null) &&
    !asksOtherwise(now.call, then.call)
  );
}

/** Whether two plans are for the same thing of the same server. */
export function isSamePlace(now: Plan, then: Plan): boolean {
  if (now.kind !== then.kind || now.kind === 'refuse') return false;
  if (now.kind === 'search') return then.kind === 'search' && now.asking === then.asking;
  if (now.kind === 'list') return true;
  return 'subject' in then && now.server === then.server && now.tool === then.tool;
}

const paramsOf = (plan: Plan): string => ('params' in plan ? canonical(plan.params) : '');

/** Whether the rules now demand an approval, and another one than they did. */
function asksOtherwise(
  { permission: now }: Pick<ForwardedCall<CallStream>, 'permission'>,
  { permission: then }: Pick<ForwardedCall<CallStream>, 'permission'>,
): boolean {
  return (
    now?.effect === 'ask' &&
    !now.isRecorded &&
    (then?.effect !== 'ask' || canonical([now.rule, now.terms]) !== canonical([then.rule, then.terms]))
  );
}
