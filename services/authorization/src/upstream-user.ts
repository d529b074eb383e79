/** Reads who a user of a provider is: in the claims of an ID token, or in the description that the provider's API gives. */
import { areElsewhere, claimAt, fewerGroups, isName, noName, requireProblem } from '@omnibus/identity';
import type { JsonObject } from '@omnibus/protocol';
import type { Person } from './people.ts';

/** The claims that say who a user is, and which users of a provider may come. */
export interface UserClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly groups: string;
  readonly tenant?: string | undefined;
  readonly require: Readonly<Record<string, readonly string[]>>;
}

const maxSubjectBytes = 255;
const maxGroups = 200;
const maxShownCharacters = 128;

/** @returns the reason, in words for the user, why nobody may come by these claims. */
export function userIn(claims: JsonObject, { issuer, subject: subjectClaim, groups: groupsClaim, tenant: tenantClaim, require }: UserClaims): Omit<Person, 'upstream'> | string {
  const { host } = new URL(issuer);
  const subject = subjectOf(claims, subjectClaim);
  if (subject === undefined) return `${host} does not say who you are`;
  const name = `${issuer}|${subject}`;
  if (Buffer.byteLength(name) > maxSubjectBytes) return `${host} knows you by a name that is too long`;
  const saidGroups = claimAt(claims, groupsClaim);
  const groups = groupsOf(saidGroups);
  // When there are too many groups, a provider may leave them out and say so: that must not be taken for "no groups".
  if (groups === undefined && (saidGroups !== undefined || areElsewhere(claims, groupsClaim))) return `${host} does not name your groups because there are too many: ${fewerGroups}`;
  const unfit = requireProblem(claims, require);
  if (unfit !== undefined) return `you are signed in at ${host}, but you may not use this gateway: ${unfit}`;
  const tenant = tenantClaim === undefined ? undefined : claims[tenantClaim];
  if (tenantClaim !== undefined && (typeof tenant !== 'string' || tenant === '')) return `${host} does not name your organization`;
  if (![subject, ...(groups ?? []), ...(tenantClaim === undefined ? [] : [String(tenant)])].every(isName)) return `the name of you, of a group of yours or of your organization at ${host} ${noName}`;
  const shown = [claims['name'], claims['preferred_username'], claims['email'], claims['login']].find((one) => typeof one === 'string' && one !== '') as string | undefined;
  return { subject: name, name: (shown ?? subject).slice(0, maxShownCharacters), groups: groups ?? [], tenant: tenant as string | undefined };
}

/** The permanent id of a user, which at GitHub is a number. */
function subjectOf(claims: JsonObject, claim: string): string | undefined {
  const said = claims[claim];
  if (typeof said === 'number') return Number.isSafeInteger(said) ? String(said) : undefined;
  return typeof said === 'string' && said !== '' ? said : undefined;
}

function groupsOf(said: unknown): readonly string[] | undefined {
  const groups = typeof said === 'string' ? [said] : said;
  return Array.isArray(groups) && groups.length <= maxGroups && groups.every((group) => typeof group === 'string' && Buffer.byteLength(group) <= maxSubjectBytes) ? groups : undefined;
}
