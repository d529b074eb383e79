/** Who may do what at the admin port: a table of acts, and the configuration's list of who has which role. */
import type { Facts } from '@omnibus/identity';
import type { AdminAct } from '@omnibus/telemetry';

export type AdminRole = 'viewer' | 'operator' | 'auditor' | 'admin';

/** As the configuration lists them: `group:NAME`, `key:SUBJECT`, or `ISSUER|SUBJECT`. */
export type RoleLists = Readonly<Record<AdminRole, readonly string[]>>;

const everyRole = ['viewer', 'operator', 'auditor', 'admin'] as const;

/** `recovery` is for whoever proves that he has the sealing key, and asks for no role. */
const permitted: Readonly<Record<AdminAct, readonly AdminRole[]>> = {
  'metrics': everyRole,
  'status': everyRole,
  'whoami': everyRole,
  'reload': ['operator', 'admin'],
  'keys.list': ['auditor', 'admin'],
  'users.list': ['auditor', 'admin'],
  'keys.change': ['admin'],
  'users.change': ['admin'],
  'recovery': [],
};

export function mayDo(act: AdminAct, roles: readonly AdminRole[]): boolean {
  return roles.some((role) => permitted[act].includes(role));
}

/** Those that may, in words. */
export function whoMay(act: AdminAct): string {
  return permitted[act].join(' or ');
}

/**
 * The roles of a caller. Whoever acts for somebody else is not that person, and has none. Groups of one tenant may be called as those of
 * another, so they count for callers without a tenant alone.
 */
export function rolesOf({ issuer, subject, groups, tenant, actors }: Facts, lists: RoleLists): readonly AdminRole[] {
  if (actors.length > 0) return [];
  const names = new Set([`${issuer}|${subject}`, ...(issuer === 'omnibus:keys' ? [`key:${subject}`] : []), ...(tenant === undefined ? groups.map((group) => `group:${group}`) : [])]);
  return everyRole.filter((role) => lists[role].some((who) => names.has(who)));
}
