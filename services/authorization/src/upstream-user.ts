/**
 * Identifies a user of a provider: by the claims of an ID token, or by the answer of the provider's API. An incomplete identity is a
 * problem, never in part: a group that is not seen is not "no group".
 */
import { areElsewhere, claimAt, fewerGroups, isName, noName, requireProblem } from '@omnibus/identity';
import type { JsonObject } from '@omnibus/protocol';
import type { Person } from './people.ts';

/** The claims that identify a user, and the admitted users of a provider. */
export interface UserClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly groups: string;
  readonly tenant?: string | undefined;
  readonly require: Readonly<Record<string, readonly string[]>>;
}

/** Bound on the name of a user or group. */
const maxNameBytes = 255;
const maxGroups = 200;
const maxShownCharacters = 128;

/** @returns the reason, in words for the user, why these claims are not admitted. */
export function userIn(
  claims: JsonObject,
  { issuer, subject: subjectClaim, groups: groupsClaim, tenant: tenantClaim, require }: UserClaims,
): Omit<Person, 'upstream'> | string {
  const { host } = new URL(issuer);
  const subject = subjectOf(claims, subjectClaim);
  if (subject === undefined) return `${host} does not say who you are`;
  const name = `${issuer}|${subject}`;
  if (Buffer.byteLength(name) > maxNameBytes) return `${host} knows you by a name that is too long`;
  const groups = groupsOf(claims, groupsClaim, host);
  if (typeof groups === 'string') return groups;
  const unfit = requireProblem(claims, require);
  if (unfit !== undefined) return `you are signed in at ${host}, but you may not use this gateway: ${unfit}`;
  const tenant = tenantClaim === undefined ? undefined : claims[tenantClaim];
  if (tenantClaim !== undefined && (typeof tenant !== 'string' || tenant === ''))
    return `${host} does not name your organization`;
  if (![subject, ...(tenantClaim === undefined ? [] : [String(tenant)])].every(isName))
    return `the name of you or of your organization at ${host} ${noName}`;
  const shown = [claims['name'], claims['preferred_username'], claims['email'], claims['login']].find(
    (one) => typeof one === 'string' && one !== '',
  ) as string | undefined;
  return {
    subject: name,
    name: (shown ?? subject).slice(0, maxShownCharacters),
    groups,
    tenant: tenant as string | undefined,
  };
}

/** The permanent id of a user, which at GitHub is a number. */
function subjectOf(claims: JsonObject, claim: string): string | undefined {
  const said = claims[claim];
  if (typeof said === 'number') return Number.isSafeInteger(said) ? String(said) : undefined;
  return typeof said === 'string' && said !== '' ? said : undefined;
}

/** @param claim with the groups. @param host of the provider. @returns the problem, in words for the user, if there is one. */
function groupsOf(claims: JsonObject, claim: string, host: string): readonly string[] | string {
  const said = claimAt(claims, claim) ?? undefined;
  // Where there are too many groups, a provider may leave them out and say so.
  if (said === undefined)
    return areElsewhere(claims, claim)
      ? `${host} does not name your groups because there are too many: ${fewerGroups}`
      : [];
  const groups = typeof said === 'string' ? [said] : said;
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === 'string'))
    return `what ${host} says in "${claim}" is no list of names of groups; \`groups\` of \`signIn\` names the claim with that list`;
  if (groups.length > maxGroups) return `${host} names more than ${maxGroups} groups of yours: ${fewerGroups}`;
  if (groups.some((group) => Buffer.byteLength(group) > maxNameBytes))
    return `${host} knows a group of yours by a name that is too long`;
  return groups.every(isName) ? groups : `the name of a group of yours at ${host} ${noName}`;
}
