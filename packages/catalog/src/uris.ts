/**
 * Resource URIs are identities and pass unchanged; a server is found by who lists the URI, then by the most specific
 * template that matches. Only when two servers list the same URI does the later one get an alias.
 */
import type { ServerName } from '@omnibus/protocol';

const aliasPrefix = 'omnibus://';

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

interface TemplateMatcher {
  readonly server: ServerName;
  readonly pattern: RegExp;
  /** Literal characters: what makes one template more specific than another. */
  readonly literals: number;
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
  readonly #templates: readonly TemplateMatcher[];

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
    this.#templates = templates
      .map(({ server, uriTemplate }) => ({ server, ...compileTemplate(uriTemplate) }))
      .toSorted((a, b) => b.literals - a.literals);
  }

  /** The server of a URI, or of a template as completion names it, as far as the catalogue tells. */
  ownerOf(uri: string): ServerName | undefined {
    return this.#owners.get(uri) ?? this.#templateOwners.get(uri) ?? this.#templates.find(({ pattern }) => pattern.test(uri))?.server;
  }

  hasAliases(server: ServerName): boolean {
    return this.#aliased.has(server);
  }

  /** What a client sees for a URI of this server. */
  publicUri(server: ServerName, uri: string): string {
    return this.#aliased.get(server)?.has(uri) === true ? aliasUri(server, uri) : uri;
  }
}

/**
 * A pattern for the URIs an RFC 6570 template can expand to. Expansions with operators may hold anything their operator
 * allows; a plain `{name}` stops at reserved characters.
 */
function compileTemplate(template: string): { readonly pattern: RegExp; readonly literals: number } {
  let pattern = '';
  let literals = 0;
  for (const part of template.split(/(\{[^{}]*\})/)) {
    if (part.startsWith('{') && part.endsWith('}')) {
      pattern += expansionPattern(part.slice(1, -1));
    } else {
      pattern += part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      literals += part.length;
    }
  }
  return { pattern: new RegExp(`^${pattern}$`), literals };
}

function expansionPattern(expression: string): string {
  switch (expression[0]) {
    case '+': return '.+';
    case '#': return '(?:#.*)?';
    case '.': return '(?:\\.[^/?#]*)?';
    case '/': return '(?:/[^?#]*)?';
    case ';': return '(?:;[^/?#]*)?';
    case '?': return '(?:\\?[^#]*)?';
    case '&': return '(?:&[^#]*)?';
    default: return expression.endsWith('*') ? '[^?#]+' : '[^/?#]+';
  }
}
