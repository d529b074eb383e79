/**
 * Finds which issuer gives tokens for a server, and its endpoints: from the metadata of the server (RFC 9728), then from those of the issuer
 * (RFC 8414, OpenID Connect Discovery). Older servers do otherwise (2025-03-26 basic/authorization: metadata at the root of the
 * server, and without them default addresses).
 */
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { AuthorizationServer } from 'oauth4webapi';
import { CredentialProblem, isTrustworthy, type Fetch } from './outbound.ts';

export interface Discovered {
  /** The issuer; tokens and client registrations belong to it alone. */
  readonly issuer: string;
  readonly server: AuthorizationServer;
  /**
   * The resource for which tokens are requested (RFC 8707): as the server's metadata name it, else its address. MCP clients send it whether or not the issuer
   * supports it (2025-06-18 to 2026-07-28 basic/authorization, Resource Parameter Implementation).
   */
  readonly resource: string;
  /** Whether the server's metadata say that it accepts only tokens that are bound to a key (RFC 9728, 2). */
  readonly isProofWanted?: boolean;
  /** The scopes that the server names, separated by blanks. */
  readonly scopes: string | undefined;
}

export interface DiscoveryOptions {
  readonly fetch: Fetch;
  readonly url: string;
  /** Address at which the server has said that its metadata are. */
  readonly resourceMetadata?: string | undefined;
  /** The only issuer that is trusted. */
  readonly issuer?: string | undefined;
}

/** Bound on the issuers and scopes that are read. */
const maxNamed = 100;

/** @throws {CredentialProblem} */
export async function discover({
  fetch,
  url,
  resourceMetadata,
  issuer: pinned,
}: DiscoveryOptions): Promise<Discovered> {
  const said = await ofServer(
    fetch,
    url,
    resourceMetadata,
    resourceMetadata === undefined ? isForbiddenAbsent : undefined,
  );
  if (said === undefined)
    return pinned === undefined
      ? ofOlder(fetch, url)
      : { issuer: pinned, server: await issuerMetadata(fetch, pinned), resource: resourceOf(url), scopes: undefined };
  const { resource, scopes, issuers, isProofWanted } = said;
  if (pinned !== undefined && issuers.length > 0 && !issuers.includes(pinned))
    throw new CredentialProblem(`the server trusts other issuers than ${pinned}, which the configuration names`);
  const [named = new URL(url).origin] = pinned === undefined ? issuers : [pinned];
  return { issuer: named, server: await issuerMetadata(fetch, named), resource, scopes, isProofWanted };
}

/**
 * The issuers that the server's metadata name now; the issuers themselves are not asked.
 * @returns undefined when there are no metadata that name any.
 * @throws {CredentialProblem} when it cannot be found out.
 */
export async function issuersNamed({
  fetch,
  url,
  resourceMetadata,
}: DiscoveryOptions): Promise<readonly string[] | undefined> {
  const said = await ofServer(fetch, url, resourceMetadata);
  const issuers = said === undefined ? [(await documentOfOlder(fetch, url))?.issuer ?? []].flat() : said.issuers;
  return issuers.length === 0 ? undefined : issuers;
}

interface SaidByServer {
  readonly resource: string;
  readonly isProofWanted: boolean;
  readonly issuers: readonly string[];
  readonly scopes: string | undefined;
}

/** Reads the server's metadata; undefined when there are none. */
async function ofServer(
  fetch: Fetch,
  url: string,
  resourceMetadata: string | undefined,
  isAbsent: IsAbsent = () => false,
): Promise<SaidByServer | undefined> {
  const { origin, pathname } = new URL(url);
  const path = pathname.replace(/\/$/, '');
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  // Where the server has named an address at which there is nothing, its metadata may still be where those of other servers are.
  const places = [...new Set([resourceMetadata ?? [], `${wellKnown}${path}`, wellKnown].flat())];
  const found = await firstOf(fetch, places, isAbsent);
  if (found === undefined) return undefined;
  const { resource, authorization_servers: issuers, scopes_supported: scopes } = found.document;
  if (typeof resource !== 'string' || !isSameOrParent(resource, url))
    throw new CredentialProblem(`${found.place} is about another server, so nothing is asked for there`);
  return {
    resource,
    issuers: texts(issuers),
    scopes: joined(texts(scopes)),
    isProofWanted: found.document['dpop_bound_access_tokens_required'] === true,
  };
}

/** The address of a server as a resource (basic/authorization, Canonical Server URI): without a fragment, a lone slash, and the query, which may have secrets. */
function resourceOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return pathname === '/' ? origin : `${origin}${pathname}`;
}

/** Whether a resource is the server's address or a parent of it: the same origin, and a beginning of its path. */
function isSameOrParent(resource: string, url: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [one, other] = [new URL(resource), new URL(url)];
  const withSlash = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return one.origin === other.origin && withSlash(other.pathname).startsWith(withSlash(one.pathname));
}

/** The metadata of an issuer. @throws {CredentialProblem} when there is no document that names exactly that issuer (RFC 8414, 3.3). */
export async function issuerMetadata(fetch: Fetch, issuer: string): Promise<AuthorizationServer> {
  if (!isTrustworthy(issuer)) throw new CredentialProblem(`the issuer ${shown(issuer)} is not at an https:// address`);
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  const found = await firstOf(fetch, [...new Set(places)]);
  if (found === undefined) throw new CredentialProblem(`the issuer ${issuer} has no metadata`);
  const { document, place } = found;
  if (document['issuer'] !== issuer && document['issuer'] !== issuer.replace(/\/$/, ''))
    throw new CredentialProblem(`${place} is the metadata of another issuer than ${issuer}`);
  return metadataOf(document, place);
}

/** The metadata of a server that is its own issuer, and has no metadata as a resource. */
async function ofOlder(fetch: Fetch, url: string): Promise<Discovered> {
  const { origin } = new URL(url);
  if (!isTrustworthy(origin))
    throw new CredentialProblem(`the server says nothing of its issuer, and ${origin} is not an https:// address`);
  const found = await documentOfOlder(fetch, url);
  if (found !== undefined)
    return {
      issuer: found.issuer,
      server: metadataOf({ ...found.document, issuer: found.issuer }, found.place),
      resource: resourceOf(url),
      scopes: undefined,
    };
  const server = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
  };
  return { issuer: origin, server, resource: resourceOf(url), scopes: undefined };
}

async function documentOfOlder(fetch: Fetch, url: string): Promise<(Found & { readonly issuer: string }) | undefined> {
  const { origin } = new URL(url);
  const found = await firstOf(fetch, [
    `${origin}/.well-known/oauth-authorization-server`,
    `${origin}/.well-known/openid-configuration`,
  ]);
  if (found === undefined) return undefined;
  const { issuer = origin } = found.document;
  // The issuer may have a path at the server's origin (2025-03-26), but no other origin: it would get credentials of another issuer (RFC 8414, 3.3).
  if (typeof issuer !== 'string' || !URL.canParse(issuer) || new URL(issuer).origin !== origin) {
    throw new CredentialProblem(
      `${found.place} names the issuer ${shown(String(issuer))}, which is not at ${origin}: a server that says nothing of its issuer is its own`,
    );
  }
  return { ...found, issuer };
}

const endpoints = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'];

/** The used members that are lists of texts; other elements are ignored. */
const lists = [
  'code_challenge_methods_supported',
  'scopes_supported',
  'token_endpoint_auth_methods_supported',
  'dpop_signing_alg_values_supported',
];

/** @throws {CredentialProblem} when it names an address to which no secret may be sent. */
function metadataOf(document: JsonObject, place: string): AuthorizationServer {
  const read: Record<string, unknown> = { ...document };
  for (const name of endpoints) {
    const address = document[name] ?? undefined;
    if (address !== undefined && (typeof address !== 'string' || !isTrustworthy(address)))
      throw new CredentialProblem(`${place}: ${name} is not an https:// address`);
    read[name] = address;
  }
  for (const name of lists)
    read[name] = document[name] === undefined || document[name] === null ? undefined : texts([document[name]].flat());
  return read as unknown as AuthorizationServer;
}

type IsAbsent = (status: number) => boolean;

/**
 * Some servers and proxies answer 403 for whatever does not exist. At an address that was only guessed, a sign-in therefore goes on as if there were
 * nothing, and next asks at the server's own origin. A 403 does not prove that metadata which existed before have been removed.
 */
const isForbiddenAbsent: IsAbsent = (status) => status === 403;

interface Found {
  readonly document: JsonObject;
  readonly place: string;
}

/**
 * @returns the first document found; undefined when no place has one.
 * @throws {CredentialProblem} marked as passing, when it cannot be found out whether one of the places has a document.
 */
async function firstOf(
  fetch: Fetch,
  places: readonly string[],
  isAbsent: IsAbsent = () => false,
): Promise<Found | undefined> {
  let unclear: CredentialProblem | undefined;
  for (const place of places) {
    const document = await read(fetch, place, isAbsent);
    if (document instanceof CredentialProblem) unclear ??= document;
    else if (document !== undefined) return { document, place };
  }
  if (unclear !== undefined) throw unclear;
  return undefined;
}

/**
 * @returns undefined when there is no document: older servers answer anything there. A problem when a proxy in front of the place may have
 * answered, since some answer 403 or 502 for what does not exist; then the next place is tried.
 * @throws {CredentialProblem} when it cannot be found out now.
 */
async function read(
  fetch: Fetch,
  place: string,
  isAbsent: IsAbsent,
): Promise<JsonObject | CredentialProblem | undefined> {
  if (!isTrustworthy(place)) throw new CredentialProblem(`${shown(place)} is not an https:// address`);
  const response = await fetch(place, { headers: { accept: 'application/json' } });
  const { status } = response;
  if (isAbsent(status)) return undefined;
  if (status >= 500 || status === 429 || status === 403) {
    const problem = new CredentialProblem(`${place} answers HTTP ${status}`, { isPassing: true });
    if (status === 403 || status === 502) return problem;
    throw problem;
  }
  if (status !== 200) return undefined;
  try {
    const document: unknown = JSON.parse(await response.text());
    if (isObject(document)) return document;
  } catch {
    // It is not JSON, for example a web page with which a server answers every address.
  }
  return undefined;
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value)
    ? value.filter((each): each is string => typeof each === 'string').slice(0, maxNamed)
    : [];
}

function joined(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : names.join(' ');
}

/** An address from outside, shortened for a message. */
function shown(address: string): string {
  return JSON.stringify(address.slice(0, 200));
}
