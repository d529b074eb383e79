/** Reads the claims of a token about its caller, within bounds; a token beyond them is refused, never cut. */
import { isObject, printable, type Actor, type JsonObject } from '@omnibus/protocol';
import { principalOf, type Facts, type Subject } from '../facts.ts';
import { isName, noName } from '../names.ts';
import { bindingOf, type Binding } from '../possession.ts';

export interface ClaimNames {
  /** The claim with the subject. */
  readonly subject: string;
  readonly groups: string;
  readonly tenant?: string | undefined;
  /** The tenant of all callers of the issuer, where no claim names it. */
  readonly ofTenant?: string | undefined;
  /** Whether a token without a tenant is accepted although a claim names tenants. */
  readonly mayLackTenant?: boolean;
  /** Claims with a text, number or truth value that servers may get. */
  readonly claims?: readonly string[] | undefined;
  /** The claim with the id of the user's record, where a name may pass from one user to another. */
  readonly record?: string | undefined;
  /** The beginning of subjects that are agents of the gateway. */
  readonly agent?: string | undefined;
  /** The claim with the issuer of the user, in tokens of agents that act for users of other issuers. */
  readonly origin?: string | undefined;
  /** The claim with the claims that the issuer of such a user passes on to servers. */
  readonly told?: string | undefined;
  /** Claims that a token must have, with their accepted values. */
  readonly require?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Verified statements of an issuer. */
export interface Proof {
  readonly facts: Facts;
  /** The key to which the token is bound; left out for a token of its bearer. */
  readonly binding?: Binding | undefined;
  /** Audiences of the token, each in canonical form. */
  readonly audiences: readonly string[];
}

const maxSubjectBytes = 255;
const maxIssuerBytes = 512;
const maxClaimBytes = 1_024;
const maxGroups = 200;
const maxScopes = 200;
/** Bound on the agents that act for one user, each behind the next. */
export const maxActors = 4;
/** The claims that name the client of a token: RFC 9068 and OpenID Connect; Okta; version 1 of Entra. */
const clientClaims = ['client_id', 'azp', 'cid', 'appid'] as const;
/** The beginnings of subjects of programs with tokens of their own. */
const ofProgram = 'client:';
/** The latest time that is a valid date (ECMA-262, Time Values). */
const latestMs = 8_640_000_000_000_000;
/** Tolerance for differing clocks. */
export const toleranceSeconds = 30;

/** Of a later time in seconds, one is meant in milliseconds: that would be after the year 5000. */
const maxSeconds = 100_000_000_000;

/**
 * A time as issuers say it: in seconds (RFC 7519, 2; RFC 7662, 2.2), and, by some, as a text or in milliseconds.
 * @returns seconds since 1970; undefined if absent; a text for an invalid time.
 */
export function secondsOf(claims: JsonObject, name: string): number | string | undefined {
  const said = claims[name] ?? undefined;
  if (said === undefined) return undefined;
  const time = typeof said === 'string' && /^\d{1,15}(\.\d+)?$/.test(said) ? Number(said) : said;
  if (typeof time !== 'number' || !Number.isFinite(time) || time < 0) return `its claim "${name}" is no time`;
  return time > maxSeconds ? time / 1_000 : time;
}

/** A null claim counts as missing: some issuers name every claim they know. */
export function withoutNulls(claims: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null));
}

/** Reads verified claims. @returns the problem, in words, if there is one. */
export function proofOf(said: JsonObject, by: string, names: ClaimNames): Proof | string {
  const claims = withoutNulls(said);
  const named = subjectOf(claims, names);
  if (typeof named === 'string') return named;
  const { subject, client } = named;
  const groups = groupsOf(claims, names.groups);
  if (typeof groups === 'string') return groups;
  const unfit = requireProblem(claims, names.require);
  if (unfit !== undefined) return `the token is not accepted: ${unfit}`;
  const scopes = scopesOf(claims);
  if (scopes.length > maxScopes) return `the token has more than ${maxScopes} scopes`;
  const actors = actorsOf(claims['act'], by, names.agent);
  if (typeof actors === 'string') return actors;
  const binding = bindingOf(claims);
  if (typeof binding === 'string') return binding;
  const of = tenantOf(said, names);
  if (typeof of === 'string') return of;
  const { tenant } = of;
  const told = toldClaims(claims, names);
  if (typeof told === 'string') return told;
  const exp = secondsOf(claims, 'exp');
  if (typeof exp === 'string') return `the token is not accepted: ${exp}`;
  // The library that verified the claims may have read milliseconds as seconds.
  if (exp !== undefined && (exp + toleranceSeconds) * 1_000 <= Date.now())
    return 'the token is not accepted: it has expired';
  const { issuer, principals } = identityOf(claims, { subject, tenant, actors, by }, names);
  return {
    ...(binding === undefined ? {} : { binding }),
    audiences: (Array.isArray(claims['aud']) ? claims['aud'] : [claims['aud']])
      .filter((one) => typeof one === 'string')
      .map(canonical),
    facts: {
      issuer,
      subject,
      tenant,
      actors,
      groups,
      ...(told === undefined ? {} : { claims: told }),
      scopes,
      client,
      ...agentOf(actors[0] ?? { issuer, subject }, by, names),
      key: undefined,
      grant: textOf(claims['grant_id']),
      ...principals,
      expiresAt: exp === undefined ? undefined : Math.min(latestMs, (exp + toleranceSeconds) * 1_000),
    },
  };
}

/** The subject and the client of a token. @returns the problem, in words, if there is one. */
function subjectOf(
  claims: JsonObject,
  names: ClaimNames,
): { readonly subject: string; readonly client: string | undefined } | string {
  const clientClaim = clientClaims.find((name) => textOf(claims[name]) !== undefined) ?? clientClaims[0];
  const client = textOf(claims[clientClaim]);
  const named = textOf(claims[names.subject]);
  const subject =
    named ??
    (claims[names.subject] === undefined && client !== undefined && isOfProgram(claims, client)
      ? `${ofProgram}${client}`
      : undefined);
  if (subject === undefined) return `the token names nobody: it has no claim "${names.subject}"`;
  // Where users choose the text of the claim, one of them would be the program otherwise.
  if (named?.startsWith(ofProgram) === true && named !== `${ofProgram}${client ?? ''}`)
    return `the token is not accepted: its claim "${names.subject}" begins with "${ofProgram}", by which programs are known here`;
  const strange = [names.subject, clientClaim].find((name) => !isName(textOf(claims[name]) ?? ''));
  if (strange !== undefined) return strangeName(strange);
  return Buffer.byteLength(subject) > maxSubjectBytes || Buffer.byteLength(client ?? '') > maxIssuerBytes
    ? 'the token names somebody by a text that is too long'
    : { subject, client };
}

/** The issuer of the subject, and the principals of the caller. @param by the issuer of the token. */
function identityOf(
  claims: JsonObject,
  {
    subject,
    tenant,
    actors,
    by,
  }: {
    readonly subject: string;
    readonly tenant: string | undefined;
    readonly actors: readonly Actor[];
    readonly by: string;
  },
  names: ClaimNames,
): { readonly issuer: string; readonly principals: Pick<Facts, 'principal' | 'ofSubject'> } {
  const record = names.record === undefined ? undefined : textOf(claims[names.record]);
  const issuer = (names.origin === undefined ? undefined : textOf(claims[names.origin])) ?? by;
  const principal = principalOf({ issuer, subject }, tenant, actors, record);
  if (actors.length === 0) return { issuer, principals: { principal } };
  return { issuer, principals: { principal, ofSubject: principalOf({ issuer, subject }, tenant, [], record) } };
}

/** The agent of the gateway that sent the request with a token, if it is one. @param acting the first of its actors, or the subject. */
function agentOf(acting: Subject, issuer: string, { agent: mark }: ClaimNames): { readonly agent?: string } {
  return mark !== undefined && acting.issuer === issuer && acting.subject.startsWith(mark)
    ? { agent: acting.subject.slice(mark.length) }
    : {};
}

/** The tenant of a token. @returns the problem, in words, if there is one. */
function tenantOf(said: JsonObject, names: ClaimNames): { readonly tenant: string | undefined } | string {
  const saidTenant = names.tenant === undefined ? undefined : said[names.tenant];
  const tenant = textOf(saidTenant) ?? (names.tenant === undefined ? names.ofTenant : undefined);
  if (Buffer.byteLength(tenant ?? '') > maxSubjectBytes) return 'the token names a tenant by a text that is too long';
  if (names.tenant !== undefined && !isName(tenant ?? '')) return strangeName(names.tenant);
  const mayLack = names.tenant === undefined || (names.mayLackTenant === true && saidTenant === undefined);
  return tenant === undefined && !mayLack ? `the token has no claim "${names.tenant}" for its tenant` : { tenant };
}

/** An address in canonical form: scheme and host in lower case, without a trailing slash (MCP authorization, Canonical Server URI). */
export function canonical(audience: string): string {
  return URL.canParse(audience) && /^https?:/i.test(audience) ? new URL(audience).href.replace(/\/$/, '') : audience;
}

/** Advice for tokens that leave out groups because there are too many. */
export const fewerGroups =
  'let the issuer send those alone that are assigned to the application, or roles of the application instead (docs/how-to/sign-in.md)';

/** Whether an issuer has left a claim out and names another place for it (OpenID Connect Core, 5.6.2; `hasgroups` of Entra). */
export function areElsewhere(claims: JsonObject, name: string): boolean {
  const elsewhere = claims['_claim_names'];
  return (name === 'groups' && claims['hasgroups'] === true) || (isObject(elsewhere) && Object.hasOwn(elsewhere, name));
}

/** A claim by its name, or by the names on the way to it: `realm_access.roles`. A name may contain dots, as addresses do. */
export function claimAt(claims: JsonObject, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let at: unknown = claims;
  for (const part of name.split('.')) at = isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined;
  return at;
}

/** The claim that does not have a required value, in words. */
export function requireProblem(claims: JsonObject, require: ClaimNames['require']): string | undefined {
  for (const [name, expected] of Object.entries(require ?? {})) {
    const said = claimAt(claims, name);
    const isRight = [said]
      .flat()
      .some(
        (one) =>
          (typeof one === 'string' || typeof one === 'boolean' || typeof one === 'number') &&
          expected.includes(String(one)),
      );
    if (!isRight)
      return `its claim "${name}" ${said === undefined ? 'is not there' : `is ${printable(JSON.stringify(said)).slice(0, 100)}`}, and has to be ${expected.join(' or ')}`;
  }
  return undefined;
}

/**
 * Whether a program got a token for itself (client credentials), which then has no subject, or the program as its subject. The token of a user that is only named in
 * another way must not count as one of the program, since all users of the program would be the same caller.
 */
function isOfProgram({ sub, username, user_name: userName }: JsonObject, client: string): boolean {
  // RFC 9068, 2.2; Okta; Auth0.
  const namesProgram = sub === undefined || sub === client || sub === `${client}@clients`;
  // RFC 7662, 2.2; older servers of Spring.
  return namesProgram && username === undefined && userName === undefined;
}

/** @param claim the name of a claim with an invalid name as value. */
const strangeName = (claim: string): string => `the token is not accepted: its claim "${claim}" ${noName}`;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Where there are too many groups for a token, an issuer leaves them all out and says so: that is not "no groups". */
function groupsOf(claims: JsonObject, name: string): readonly string[] | string {
  const said = claimAt(claims, name) ?? undefined;
  if (said === undefined)
    return areElsewhere(claims, name)
      ? `the token does not name the groups of its caller because they are too many: ${fewerGroups}`
      : [];
  const groups = typeof said === 'string' ? [said] : said;
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === 'string'))
    return `the claim "${name}" is no list of texts`;
  if (groups.length > maxGroups || groups.some((group) => Buffer.byteLength(group) > maxSubjectBytes))
    return `the token names more than ${maxGroups} groups, or a name is too long`;
  return groups.every(isName) ? groups : `the token is not accepted: a group of its claim "${name}" ${noName}`;
}

/** @returns undefined where none are wanted. */
function toldClaims(
  claims: JsonObject,
  { claims: names = [], told: together }: ClaimNames,
): Readonly<Record<string, string>> | undefined | string {
  const known = together === undefined ? undefined : claims[together];
  if (isObject(known)) return known as Readonly<Record<string, string>>; // Only our own server writes it.
  if (names.length === 0) return undefined;
  const told: Record<string, string> = {};
  for (const name of names) {
    const said = claimAt(claims, name);
    if (typeof said !== 'string' && typeof said !== 'number' && typeof said !== 'boolean') continue;
    if (Buffer.byteLength(String(said)) > maxClaimBytes)
      return `the claim "${name}" is longer than ${maxClaimBytes} bytes`;
    told[name] = String(said);
  }
  return told;
}

function scopesOf({ scope, scp }: JsonObject): string[] {
  const said = scope ?? scp;
  if (Array.isArray(said)) return said.filter((one) => typeof one === 'string');
  return typeof said === 'string' ? said.split(' ').filter((one) => one !== '') : [];
}

/**
 * Agents that act for the subject; the one that sent the request comes first (RFC 8693, 4.1).
 * @param mark the beginning of subjects that are agents of the gateway, in a token of its own server.
 */
function actorsOf(said: unknown, issuer: string, mark: string | undefined): readonly Actor[] | string {
  const actors: Actor[] = [];
  for (let act = said; act !== undefined; act = (act as JsonObject)['act']) {
    const subject = isObject(act) ? (textOf(act['sub']) ?? textOf(act['client_id'])) : undefined;
    if (!isObject(act) || subject === undefined)
      return 'the token says that somebody acts for its subject, and not who (act)';
    if (actors.length >= maxActors || Buffer.byteLength(subject) > maxSubjectBytes)
      return `more than ${maxActors} act for the subject of the token, or a name is too long`;
    const by = textOf(act['iss']) ?? issuer;
    if (!isName(subject) || !isName(by)) return `the token is not accepted: somebody in its claim "act" ${noName}`;
    const isOurs = mark !== undefined && by === issuer && subject.startsWith(mark);
    actors.push({ issuer: by, subject, ...(isOurs ? { grant: textOf(act['grant_id']) ?? '' } : {}) });
  }
  return actors;
}
