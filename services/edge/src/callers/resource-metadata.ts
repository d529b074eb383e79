/** Protected resource metadata, which name the issuers of tokens for an endpoint (RFC 9728). They depend on the configuration only, never on the Host header. */
import { proofAlgorithms } from '@omnibus/identity';
import { basePathOf } from '@omnibus/protocol';
import { findEndpoint } from '../requests/endpoints.ts';

export interface ResourceMetadataOptions {
  /** Base URL, such as `https://mcp.example.com`. */
  readonly publicUrl: string;
  readonly issuers: readonly string[];
  readonly scopes: EndpointScopes;
  /** Whether every token must be bound to a key of its holder. */
  readonly needsBinding: boolean;
}

/** Scopes that unauthenticated clients may know, without those that belong to certain tenants only. */
export interface EndpointScopes {
  /** What every request at an endpoint needs. */
  neededAt(endpoint: string): readonly string[];
  /** The same, and what some requests there need. */
  supportedAt(endpoint: string): readonly string[];
}

const wellKnown = '/.well-known/oauth-protected-resource';
const fronts = /^\/(sse|ws|messages)(?=\/|$)/;

export class ResourceMetadata {
  readonly #publicUrl: string;
  /** The address of documents, up to the path of an endpoint. */
  readonly #documents: string;
  readonly #options: ResourceMetadataOptions;

  constructor(options: ResourceMetadataOptions) {
    this.#options = options;
    this.#publicUrl = options.publicUrl.replace(/\/$/, '');
    this.#documents = `${new URL(this.#publicUrl).origin}${wellKnown}${basePathOf(this.#publicUrl)}`;
  }

  /** What every request to an endpoint needs. @param path of a request to it, with its query. */
  scopesFor(path: string): readonly string[] {
    return this.#options.scopes.neededAt(endpointAt(plainPath(path).replace(/^\/messages(?=\/|$)/, '/mcp')) ?? '');
  }

  /** Address of the document about an endpoint. @param path of a request to the endpoint, with its query. */
  addressFor(path: string): string {
    return `${this.#documents}${plainPath(path).replace(/^\/messages(?=\/|$)/, '/sse')}`;
  }

  /**
   * The document at a path; undefined where there is none. The document at the root is about `/mcp`.
   * @param isServed whether there is an endpoint of that name.
   */
  documentAt(path: string, isServed: (endpoint: string) => boolean): string | undefined {
    const place = plainPath(path);
    if (place !== wellKnown && !place.startsWith(`${wellKnown}/`)) return undefined;
    const resource = place === wellKnown ? '/mcp' : place.slice(wellKnown.length);
    const endpoint = resource.startsWith('/messages') ? undefined : endpointAt(resource);
    if (endpoint === undefined || !isServed(endpoint)) return undefined;
    const { issuers } = this.#options;
    const scopes = this.#options.scopes.supportedAt(endpoint);
    return JSON.stringify({
      resource: `${this.#publicUrl}${resource}`,
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: proofAlgorithms,
      ...(this.#options.needsBinding ? { dpop_bound_access_tokens_required: true } : {}),
      ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    });
  }
}

/** Each way in has the same endpoints. */
const endpointAt = (path: string): string | undefined => findEndpoint(path.replace(fronts, '/mcp'));

/** A path without its query, and without a slash at its end. */
export function plainPath(path: string): string {
  const query = path.indexOf('?');
  return (query === -1 ? path : path.slice(0, query)).replace(/\/$/, '');
}
