/**
 * Resource URIs are identities and pass unchanged; a server is found by who lists the URI, then by the most specific
 * template that matches (`uri-template.ts`). Only when two servers list the same URI does the later one get an alias.
 */
import type { ServerName } from '@omnibus/protocol';
import { UriTemplate } from './uri-template.ts';

export const aliasPrefix = 'omnibus://';

function aliasUri(server: string, uri: string): string {
  return `${aliasPrefix}${server}/${uri}`;
}

/** The server and its own URI that an alias stands for, or undefined when it is none. */
export function parseAlias(uri: string): { readonly server: string; readonly uri: string } | undefined {
  if (!uri.startsWith(aliasPrefix)) return undefined;
  const slash = uri.indexOf('/', aliasPrefix.length);
  if (slash === -1) return undefined;
  return { server: uri.slice(aliasPrefix.length, slash), uri: uri.slice(slash + 1) };
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
  readonly #owners = new Map<string, ServerName>();
  /** For each server, the URIs it shares with an earlier one. */
  readonly #aliased = new Map<ServerName, Set<string>>();
  readonly #templateOwners = new Map<string, ServerName>();
  /** By server, the most specific first. */
  readonly #templates: ReadonlyMap<ServerName, readonly UriTemplate[]>;

  /** @param claims in the order of the configuration: the first to claim a URI keeps it. */
  constructor(claims: readonly ResourceClaim[], templates: readonly TemplateClaim[]) {
    for (const { server, uri } of claims) {
      const owner = this.#owners.get(uri);
      if (owner === undefined) this.#owners.set(uri, server);
      else if (owner !== server) {
        const aliased = this.#aliased.get(server) ?? new Set();
        this.#aliased.set(server, aliased.add(uri));
      }
    }
    for (const { server, uriTemplate } of templates) if (!this.#templateOwners.has(uriTemplate)) this.#templateOwners.set(uriTemplate, server);
    this.#templates = new Map([...Map.groupBy(templates, ({ server }) => server)].map(([server, own]) => [server, parseTemplates(own)]));
  }

  /** The server of a URI, or of a template as completion names it, as far as the catalogue tells. */
  ownerOf(uri: string): ServerName | undefined {
    return this.matches(uri)[0]?.server;
  }

  /** Every server that may have a URI, the likeliest first; of equals, the earlier in the endpoint's order. */
  matches(uri: string): readonly ResourceMatch[] {
    const owner = this.#owners.get(uri) ?? this.#templateOwners.get(uri);
    if (owner !== undefined) return [{ server: owner, specificity: Infinity }];
    const found: ResourceMatch[] = [];
    for (const [server, templates] of this.#templates) {
      let tried = 0;
      const template = templates.find((each) => each.mayMatch(uri) && (tried += 1) <= maxTried && each.matches(uri));
      if (template !== undefined) found.push({ server, specificity: template.literals });
    }
    return found.toSorted((a, b) => b.specificity - a.specificity);
  }

  hasAliases(server: ServerName): boolean {
    return this.#aliased.has(server);
  }

  /** What a client sees for a URI of this server. */
  publicUri(server: ServerName, uri: string): string {
    return this.#aliased.get(server)?.has(uri) === true ? aliasUri(server, uri) : uri;
  }
}

function parseTemplates(claims: readonly TemplateClaim[]): UriTemplate[] {
  return claims.slice(0, maxTemplatesOfServer).flatMap(({ uriTemplate }) => UriTemplate.parse(uriTemplate) ?? []).toSorted((a, b) => b.literals - a.literals);
}
