/** Audit records of the changes of providers to their directories, of refused changes, and of requests with a wrong secret. */
import { isDeepStrictEqual } from 'node:util';
import type { Audit, AuditEvent } from '@omnibus/audit';
import type { DirectoryGroup, DirectoryUser } from '@omnibus/protocol';
import type { Of } from './of.ts';

/** Users of one record: a change of more members has several records. */
const maxNamed = 100;
const maxPath = 200;

type UserAct = 'created' | 'changed' | 'activated' | 'deactivated' | 'deleted';
type GroupAct = 'created' | 'changed' | 'deleted';
type More = NonNullable<AuditEvent['more']>;

const attributes = ['userName', 'externalId', 'active', 'displayName', 'name', 'emails'] as const;

export class ScimRecords {
  readonly #audit: Pick<Audit, 'record'> | undefined;

  /** @param audit undefined where nothing is recorded. */
  constructor(audit: Pick<Audit, 'record'> | undefined) {
    this.#audit = audit;
  }

  /**
   * Records a change of a user.
   * @param before undefined for a new user. @param after undefined for a deleted one.
   * @param isAdmitted whether an earlier deactivation has ended, although the user itself is the same.
   */
  user(of: Of, before: DirectoryUser | undefined, after: DirectoryUser | undefined, isAdmitted = false): void {
    const user = after ?? before;
    if (user === undefined) return;
    const changed = changedIn(before, after);
    if (before !== undefined && after !== undefined && changed.length === 0 && !isAdmitted) return;
    const [was, now] = [before, after].map((each) => (each === undefined ? undefined : nameOf(of, each)));
    this.#record(of, `scim.user.${userAct(before, after, isAdmitted)}`, {
      user: nameOf(of, user),
      was: was === now || after === undefined ? undefined : was,
      user_name: user.userName,
      id: user.id,
      active: after?.active,
      changed: before === undefined || after === undefined ? undefined : changed,
    });
  }

  /** Records a new, renamed or deleted group; its members are on record of their own. */
  group(of: Of, before: DirectoryGroup | undefined, after: DirectoryGroup | undefined): void {
    const group = after ?? before;
    if (group === undefined) return;
    if (before?.displayName === after?.displayName && before?.externalId === after?.externalId) return;
    const act: GroupAct = before === undefined ? 'created' : after === undefined ? 'deleted' : 'changed';
    this.#record(of, `scim.group.${act}`, {
      group: group.displayName,
      was: before === undefined || before.displayName === group.displayName ? undefined : before.displayName,
      id: group.id,
    });
  }

  /** Records users that have come into a group, or have left it. */
  members(
    of: Of,
    { displayName: group, id }: Pick<DirectoryGroup, 'displayName' | 'id'>,
    changed: { readonly added: readonly DirectoryUser[]; readonly removed: readonly DirectoryUser[] },
  ): void {
    for (const part of ['added', 'removed'] as const)
      for (let start = 0; start < changed[part].length; start += maxNamed)
        this.#record(of, 'scim.group.members', {
          group,
          id,
          [part]: changed[part].slice(start, start + maxNamed).map((user) => nameOf(of, user)),
        });
  }

  /** Records a change that was not made, or not wholly. @param path below `/scim/v2`. */
  refused(
    of: Of,
    method: string,
    path: string,
    { status, message }: { readonly status: number; readonly message: string },
  ): void {
    this.#audit?.record({
      name: 'scim.refused',
      weight: 'refusal',
      outcome: status >= 500 ? 'fault' : 'denied',
      code: status,
      who: whoOf(of),
      more: { request: `${method} ${path.slice(0, maxPath)}`, problem: message.slice(0, maxPath) },
    });
  }

  /** Records a request whose secret is that of no directory. */
  unknown(address: string, hasSecret: boolean): void {
    this.#audit?.record({
      name: 'auth.refused',
      weight: 'refusal',
      outcome: 'denied',
      reason: hasSecret ? 'auth.invalid' : 'auth.missing',
      who: { address },
      more: { way: 'scim' },
    });
  }

  #record(of: Of, name: `scim.${string}`, more: More): void {
    this.#audit?.record({ name, weight: 'always', outcome: 'ok', who: whoOf(of), more });
  }
}

const whoOf = ({ issuer, tenant, address }: Of): AuditEvent['who'] => ({ issuer, tenant, address });

/** The user as rules name it; one without the attribute that tokens have as their subject, by its user name. */
const nameOf = ({ issuer, subject }: Of, user: DirectoryUser): string => `${issuer}|${user[subject] ?? user.userName}`;

/** Names of changed attributes: their values are about a person. */
function changedIn(before: DirectoryUser | undefined, after: DirectoryUser | undefined): readonly string[] {
  return attributes.filter((each) => !isDeepStrictEqual(before?.[each], after?.[each]));
}

function userAct(before: DirectoryUser | undefined, after: DirectoryUser | undefined, isAdmitted: boolean): UserAct {
  if (before === undefined) return 'created';
  if (after === undefined) return 'deleted';
  if (before.active === after.active) return isAdmitted && after.active ? 'activated' : 'changed';
  return after.active ? 'activated' : 'deactivated';
}
