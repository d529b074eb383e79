/**
 * Resource URIs are identities and pass unchanged; the server is the one that lists the URI, then the one by the most specific
 * template that matches (`uri-template.ts`). Only when two servers list the same URI does the later one get an alias. A page that a tool names counts as listed,
 * since servers need not list pages (extension io.modelcontextprotocol/ui, Resource Discovery).
 */
import type { ServerName } from '@omnibus/protocol';
import { pageScheme } from './pages.ts';
import { UriTemplate } from './uri-template.ts';

const aliasPrefix = 'omnibus://';
/** Hosts take pages of the scheme `ui:` only, so aliases of pages have it too. */
const pageAliasPrefix = `${pageScheme}omnibus/`;

function aliasUri(server: string, uri: string): string {
  return uri.startsWith(pageScheme)
    ? `${pageAliasPrefix}${server}/${uri.slice(pageScheme.length)}`
    : `${aliasPrefix}${server}/${uri}`;
}

/** Whether a URI may name its server. */
export function mayBeAlias(uri: string): boolean {
  return uri.startsWith(aliasPrefix) || uri.startsWith(pageAliasPrefix);
}

/** Whether a text may have an alias in it. */
export function mayHoldAlias(text: string): boolean {
  return text.includes(aliasPrefix) || text.includes(pageAliasPrefix);
}

/** The server and its own URI that an alias stands for, or undefined when it is none. */
export function parseAlias(uri: string): { readonly server: string; readonly uri: string } | undefined {
  if (!mayBeAlias(uri)) return undefined;
  const isPage = uri.startsWith(pageAliasPrefix);
  const start = isPage ? pageAliasPrefix.length : aliasPrefix.length;
  const slash = uri.indexOf('/', start);
  if (slash === -1) return undefined;
  return { server: uri.slice(start, slash), uri: `${isPage ? pageScheme : ''}${uri.slice(slash + 1)}` };
}

/** Templates of one server that are matched with URIs, and how many of them are tried for one: a URI costs a server a bounded time. */
const maxTemplatesOfServer = 1_000;
const maxTried = 32;

/** A server that may have a URI, and how surely: the literal characters of its template, or infinite when it lists the URI itself. */
export interface ResourceMatch {
  readonly server: ServerName;
  readonly specificity: number;
}

export interface ResourceClaim {
  readonly server: ServerName;
  readonly uri: string;
}

export interface TemplateClaim {
  readonly server: ServerName;
  readonly uriTemplate: string;
}

export class ResourceIndex {
  readonly #owners: Map<string, ServerName> = new Map();
  /** The servers that list a URI, where there are several, in the order of the configuration. */
  readonly #claimants: Map<string, ServerName[]> = new Map();
  /** Servers that list a URI after another one. */
  readonly #later: Set<ServerName> = new Set();
  readonly #templateOwners: Map<string, ServerName> = new Map();
  /** By server, the most specific first. */
  readonly #templates: ReadonlyMap<ServerName, readonly UriTemplate[]>;
  /** Hides unseen entries from this lookup; undefined if all are visible. */
  readonly #sees: ((server: ServerName, uri: string) => boolean) | undefined;

  /** @param claims in the order of the configuration: the first to claim a URI keeps it. */
  constructor(
    claims: readonly ResourceClaim[],
    templates: readonly TemplateClaim[],
    narrowed?: { readonly base: ResourceIndex; readonly sees: (server: ServerName, uri: string) => boolean },
  ) {
    this.#sees = narrowed?.sees;
    if (narrowed !== undefined) {
      const { base } = narrowed;
      [this.#owners, this.#claimants, this.#later, this.#templateOwners, this.#templates] = [
        base.#owners,
        base.#claimants,
        base.#later,
        base.#templateOwners,
        base.#templates,
      ];
      return;
    }
    for (const { server, uri } of claims) {
      const owner = this.#owners.get(uri);
      if (owner === undefined) this.#owners.set(uri, server);
      else if (owner !== server) {
        const claimants = this.#claimants.get(uri) ?? [owner];
        this.#claimants.set(uri, claimants.includes(server) ? claimants : [...claimants, server]);
        this.#later.add(server);
      }
    }
    for (const { server, uriTemplate } of templates)
      if (!this.#templateOwners.has(uriTemplate)) this.#templateOwners.set(uriTemplate, server);
    this.#templates = new Map(
      [...Map.groupBy(templates, ({ server }) => server)].map(([server, own]) => [server, parseTemplates(own)]),
    );
  }

  /** The same for a caller that may see a part only: hidden servers change no URI. */
  seenBy(sees: (server: ServerName, uri: string) => boolean): ResourceIndex {
    return new ResourceIndex([], [], { base: this, sees });
  }

  /** The server of a URI, or of a template as completion names it, as far as the catalogue tells. */
  ownerOf(uri: string): ServerName | undefined {
    return this.matches(uri)[0]?.server;
  }

  /** Every server that may have a URI, the likeliest first; of equals, the earlier in the endpoint's order. */
  matches(uri: string): readonly ResourceMatch[] {
    const owner =
      this.#claimants.get(uri)?.find((server) => this.#sees?.(server, uri) !== false) ??
      this.#owners.get(uri) ??
      this.#templateOwners.get(uri);
    if (owner !== undefined && this.#sees?.(owner, uri) !== false) return [{ server: owner, specificity: Infinity }];
    const found: ResourceMatch[] = [];
    for (const [server, templates] of this.#templates) {
      if (this.#sees?.(server, uri) === false) continue;
      let tried = 0;
      const template = templates.find((each) => each.mayMatch(uri) && (tried += 1) <= maxTried && each.matches(uri));
      if (template !== undefined) found.push({ server, specificity: template.literals });
    }
    return found.toSorted((a, b) => b.specificity - a.specificity);
  }

  hasAliases(server: ServerName): boolean {
    return this.#later.has(server);
  }

  /** The URI that a client sees for a URI of this server. */
  publicUri(server: ServerName, uri: string): string {
    const claimants = this.#later.has(server) ? this.#claimants.get(uri) : undefined;
    const earlier = claimants?.slice(0, Math.max(0, claimants.indexOf(server))) ?? [];
    return earlier.some((each) => this.#sees?.(each, uri) !== false) ? aliasUri(server, uri) : uri;
  }
}

function parseTemplates(claims: readonly TemplateClaim[]): UriTemplate[] {
  return claims
    .slice(0, maxTemplatesOfServer)
    .flatMap(({ uriTemplate }) => UriTemplate.parse(uriTemplate) ?? [])
    .toSorted((a, b) => b.literals - a.literals);
}
