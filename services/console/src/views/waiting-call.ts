/** A call that waits for approvers, in a few words. */
import type { Approval } from '@omnibus/admin-api';

/** What a call is for, as it is written in rules. */
export function targetOf({ kind, server, tool }: Approval): string {
  return `${kind === undefined ? '' : `${kind}:`}${server}/${tool}`;
}

/** The caller, and who acts for it. */
export function whoOf({ who: [first, ...actors], principal }: Approval): string {
  return `${first ?? principal}${actors.length === 0 ? '' : `, through ${actors.join(', ')}`}`;
}
