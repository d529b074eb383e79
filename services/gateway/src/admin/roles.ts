/** Who may do what at the admin port: a table of acts, and the configuration's list of who has which role. */
import type { Facts } from '@omnibus/identity';
import type { AdminAct } from '@omnibus/telemetry';

export type AdminRole = 'viewer' | 'operator' | 'auditor' | 'approver' | 'admin';

/** As the configuration lists them: `group:NAME`, `key:SUBJECT`, or `ISSUER|SUBJECT`. */
export type RoleLists = Readonly<Record<AdminRole, readonly string[]>>;

const everyRole = ['viewer', 'operator', 'auditor', 'admin'] as const;

/** `recovery` is for whoever proves that he has the sealing key, and asks for no role. */
const permitted: Readonly<Record<AdminAct, readonly AdminRole[]>> = {
  'metrics': everyRole,
  'status': everyRole,
  'whoami': [...everyRole, 'approver'],
  'reload': ['operator', 'admin'],
  'sessions': everyRole,
  'restart': ['operator', 'admin'],
  'keys.list': ['auditor', 'admin'],
  'users.list': ['auditor', 'admin'],
  'keys.change': ['admin'],
  'users.change': ['admin'],
  'blocks.list': ['operator', 'auditor', 'admin'],
  'blocks.change': ['operator', 'admin'],
  'usage': ['auditor', 'admin'],
  'connections.list': ['operator', 'auditor', 'admin'],
  'connections.change': ['operator', 'admin'],
  'definitions.list': everyRole,
  'definitions.approve': ['operator', 'admin'],
  'console': everyRole,
  'configuration': everyRole,
  'calls': ['operator', 'admin'],
  'payloads': ['operator', 'admin'],
  'sessions.end': ['operator', 'admin'],
  'try': ['operator', 'admin'],
  'approvals.list': ['operator', 'auditor', 'approver', 'admin'],
  'approvals.decide': ['operator', 'approver', 'admin'],
  'recovery': [],
};

export function mayDo(act: AdminAct, roles: readonly AdminRole[]): boolean {
  return roles.some((role) => permitted[act].includes(role));
}

/** The roles that may do something, in words. */
export function whoMay(act: AdminAct): string {
  return permitted[act].join(' or ');
}

/** What whoever looks after one tenant may do; he is shown what is that tenant's. */
const ofTenant: ReadonlySet<AdminAct> = new Set(['status', 'whoami', 'usage']);

export function mayDoForTenant(act: AdminAct): boolean {
  return ofTenant.has(act);
}

function namesOf({ issuer, subject }: Facts): string[] {
  return [`${issuer}|${subject}`, ...(issuer === 'omnibus:keys' ? [`key:${subject}`] : [])];
}

/**
 * The roles of a caller. Whoever acts for somebody else is not that person, and has none. Groups of one tenant may be called as those of
 * another, and so may subjects of keys: they count for callers without a tenant alone.
 */
export function rolesOf(facts: Facts, lists: RoleLists): readonly AdminRole[] {
  return ([...everyRole, 'approver'] as const).filter((role) => isNamed(facts, lists[role]));
}

/** Whether somebody is one of those whom a list names, as with roles. */
export function isNamed(facts: Facts, list: readonly string[]): boolean {
  const { issuer, subject, groups, tenant, actors } = facts;
  if (actors.length > 0) return false;
  const names = new Set(tenant === undefined ? [...namesOf(facts), ...groups.map((group) => `group:${group}`)] : [`${issuer}|${subject}`]);
  return list.some((who) => names.has(who));
}

/** The tenant that a caller looks after, which is his own or none. @param lists of who does, by tenant. */
export function tenantOf(facts: Facts, lists: Readonly<Record<string, readonly string[]>>): string | undefined {
  const { groups, tenant, actors } = facts;
  if (tenant === undefined || actors.length > 0 || !Object.hasOwn(lists, tenant)) return undefined;
  const names = new Set([...namesOf(facts), ...groups.map((group) => `group:${group}`)]);
  return lists[tenant]?.some((who) => names.has(who)) === true ? tenant : undefined;
}
