/** Rights to decide calls that wait for approvers (`ask` under `access`): at the admin port, and in an MCP client. */
import { keyIssuer } from '@omnibus/protocol';
import type { Facts } from './facts.ts';

const decidingRoles = ['approver', 'operator', 'admin'] as const;

/** People as the configuration lists them, by role: `group:NAME`, `group:ISSUER|NAME`, `key:SUBJECT`, or `ISSUER|SUBJECT`. */
type RoleLists = Readonly<Record<(typeof decidingRoles)[number], readonly string[]>>;

/** The issuers that name callers again in each tenant: API keys, and a proxy that names tenants. Another issuer gives a subject once. */
const namingPerTenant: readonly string[] = [keyIssuer, 'omnibus:proxy'];

/**
 * Whether a list, such as that of a role, names a caller. An agent that acts for a user is not that user. Two tenants may have groups of the same name,
 * keys with the same subject, and users of the same name behind a proxy: these name only callers without a tenant.
 */
export function isNamed(facts: Facts, list: readonly string[]): boolean {
  const { issuer, subject, tenant, actors } = facts;
  if (actors.length > 0 || (tenant !== undefined && namingPerTenant.includes(issuer))) return false;
  const key = issuer === keyIssuer ? [`key:${subject}`] : [];
  const names = new Set([`${issuer}|${subject}`, ...(tenant === undefined ? [...key, ...groupNames(facts)] : [])]);
  return list.some((who) => names.has(who));
}

/** The groups of a caller as lists name them: of any issuer, or of the caller's. */
export function groupNames({ issuer, groups }: Facts): readonly string[] {
  return groups.flatMap((group) => [`group:${group}`, `group:${issuer}|${group}`]);
}

export function isApprover(facts: Facts, lists: RoleLists): boolean {
  return decidingRoles.some((role) => isNamed(facts, lists[role]));
}

/** What of a record counts for that; the same in a record of the bucket and in one that another process sent. */
export type Approvable = Readonly<Record<'principal', string>> & {
  readonly who: readonly string[];
  readonly approvers?: readonly string[] | undefined;
};

/**
 * Why a user may not decide a call; undefined if the user may.
 * @param facts undefined for a person that is not known.
 */
export function approvalObstacle(
  facts: Facts | undefined,
  { approvers, principal, who }: Approvable,
): string | undefined {
  if (facts !== undefined && (facts.principal === principal || who.includes(`${facts.issuer}|${facts.subject}`)))
    return 'no user approves their own calls or grants';
  if (approvers === undefined || (facts !== undefined && isNamed(facts, approvers))) return undefined;
  return `this is for ${approvers.join(', ')}${facts === undefined ? ', and nobody is known here (auth.admin)' : ''}`;
}
