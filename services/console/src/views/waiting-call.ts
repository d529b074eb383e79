/** A call that waits for approvers, in a few words. */
import type { Approval } from '@omnibus/admin-api';

/** The target of a call, in the form of rules. */
export function targetOf({ kind, server, tool }: Approval): string {
  return `${kind === undefined ? '' : `${kind}:`}${server}/${tool}`;
}

/** The caller, and its agent. */
export function whoOf({ who: [first, ...actors], principal }: Approval): string {
  return `${first ?? principal}${actors.length === 0 ? '' : `, through ${actors.join(', ')}`}`;
}
