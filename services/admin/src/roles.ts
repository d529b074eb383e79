/** Rights at the admin port: a table of acts with the required roles, and the configuration's lists of callers with each role. */
import { groupNames, isNamed, type Facts } from '@omnibus/identity';
import { keyIssuer } from '@omnibus/protocol';
import type { AdminAct } from '@omnibus/telemetry';

/** The person that sent a request. */
export interface Administrator {
  /** The person's name in logs and in answers. */
  readonly name: string;
  readonly roles: readonly AdminRole[];
  readonly facts: Facts | undefined;
  /** The only visible tenant, for an administrator of one. */
  readonly tenant?: string | undefined;
}

export const adminRoles = ['viewer', 'operator', 'auditor', 'approver', 'admin'] as const;
export type AdminRole = (typeof adminRoles)[number];

/** People as the configuration lists them: `group:NAME`, `group:ISSUER|NAME`, `key:SUBJECT`, or `ISSUER|SUBJECT`. */
export type RoleLists = Readonly<Record<AdminRole, readonly string[]>>;

const everyRole = ['viewer', 'operator', 'auditor', 'admin'] as const;

/** `recovery` needs no role: a holder of the sealing key may do it. */
const permitted: Readonly<Record<AdminAct, readonly AdminRole[]>> = {
  metrics: everyRole,
  status: everyRole,
  whoami: [...everyRole, 'approver'],
  reload: ['operator', 'admin'],
  sessions: everyRole,
  restart: ['operator', 'admin'],
  'keys.list': ['auditor', 'admin'],
  'users.list': ['auditor', 'admin'],
  'agents.list': ['operator', 'auditor', 'admin'],
  'agents.change': ['admin'],
  'programs.list': ['operator', 'auditor', 'admin'],
  'programs.revoke': ['operator', 'admin'],
  'signing-keys.list': ['operator', 'auditor', 'admin'],
  'signing-keys.rotate': ['admin'],
  'keys.change': ['admin'],
  'users.change': ['admin'],
  'blocks.list': ['operator', 'auditor', 'admin'],
  'blocks.change': ['operator', 'admin'],
  usage: ['auditor', 'admin'],
  'servers.change': ['admin'],
  'connections.list': ['operator', 'auditor', 'admin'],
  'connections.change': ['operator', 'admin'],
  'vault.status': ['operator', 'auditor', 'admin'],
  'vault.rotate': ['operator', 'admin'],
  'definitions.list': everyRole,
  'definitions.approve': ['operator', 'admin'],
  console: everyRole,
  configuration: everyRole,
  policy: ['operator', 'auditor', 'admin'],
  audit: ['auditor', 'admin'],
  calls: ['operator', 'admin'],
  payloads: ['operator', 'admin'],
  'sessions.end': ['operator', 'admin'],
  try: ['operator', 'admin'],
  'approvals.list': ['operator', 'auditor', 'approver', 'admin'],
  'approvals.decide': ['operator', 'approver', 'admin'],
  'grants.list': ['operator', 'auditor', 'approver', 'admin'],
  'grants.change': ['operator', 'approver', 'admin'],
  'grants.own': ['operator', 'auditor', 'approver', 'admin'],
  'labels.list': ['operator', 'auditor', 'approver', 'admin'],
  'labels.clear': ['operator', 'approver', 'admin'],
  recovery: [],
};

export function mayDo(act: AdminAct, roles: readonly AdminRole[]): boolean {
  return roles.some((role) => permitted[act].includes(role));
}

/** Acts of any known caller, about itself: those with a role may do more in the same operation. */
const ofCallers: ReadonlySet<AdminAct> = new Set(['grants.own']);

export function mayDoAsCaller(act: AdminAct): boolean {
  return ofCallers.has(act);
}

/** The roles that may do something, for a message. */
export function whoMay(act: AdminAct): string {
  const roles = permitted[act];
  return roles.length < 2 ? roles.join('') : `${roles.slice(0, -1).join(', ')} or ${roles.at(-1) as string}`;
}

/** The acts of an administrator of one tenant, which see only its data. */
const ofTenant: ReadonlySet<AdminAct> = new Set(['status', 'whoami', 'usage', 'labels.list', 'labels.clear']);

export function mayDoForTenant(act: AdminAct): boolean {
  return ofTenant.has(act);
}

function namesOf({ issuer, subject }: Facts): string[] {
  return [`${issuer}|${subject}`, ...(issuer === keyIssuer ? [`key:${subject}`] : [])];
}

/**
 * The roles of a caller. An agent that acts for a user has none of that user's roles. Two tenants may have groups of the same name,
 * keys with the same subject, and users of the same name behind a proxy: these give roles only to callers without a tenant.
 */
export function rolesOf(facts: Facts, lists: RoleLists): readonly AdminRole[] {
  return ([...everyRole, 'approver'] as const).filter((role) => isNamed(facts, lists[role]));
}

/** The tenant that a caller administers, which can only be its own. @param lists of administrators, by tenant. */
export function tenantOf(facts: Facts, lists: Readonly<Record<string, readonly string[]>>): string | undefined {
  const { tenant, actors } = facts;
  if (tenant === undefined || actors.length > 0 || !Object.hasOwn(lists, tenant)) return undefined;
  const names = new Set([...namesOf(facts), ...groupNames(facts)]);
  return lists[tenant]?.some((who) => names.has(who)) === true ? tenant : undefined;
}
