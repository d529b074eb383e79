/** Where clients learn who gives tokens for an endpoint (RFC 9728). Made of the configuration alone: a Host header says nothing here. */
import { findEndpoint } from '../requests/find-endpoint.ts';

export interface ResourceMetadataOptions {
  /** Without a path: `https://mcp.example.com`. */
  readonly publicUrl: string;
  readonly issuers: readonly string[];
  /** What each token must permit. */
  readonly scopes: readonly string[];
}

const wellKnown = '/.well-known/oauth-protected-resource';
const fronts = /^\/(sse|ws|messages)(?=\/|$)/;

export class ResourceMetadata {
  readonly #publicUrl: string;
  readonly #options: ResourceMetadataOptions;

  constructor(options: ResourceMetadataOptions) {
    this.#options = options;
    this.#publicUrl = options.publicUrl.replace(/\/$/, '');
  }

  get scopes(): readonly string[] {
    return this.#options.scopes;
  }

  /** Where the document about an endpoint is. @param path of a request to it, with its query. */
  addressFor(path: string): string {
    return `${this.#publicUrl}${wellKnown}${plain(path).replace(/^\/messages(?=\/|$)/, '/sse')}`;
  }

  /**
   * The document at a path; undefined where there is none. The one at the root is about `/mcp`.
   * @param isServed whether there is an endpoint of that name.
   */
  documentAt(path: string, isServed: (endpoint: string) => boolean): string | undefined {
    const place = plain(path);
    if (place !== wellKnown && !place.startsWith(`${wellKnown}/`)) return undefined;
    const resource = place === wellKnown ? '/mcp' : place.slice(wellKnown.length);
    // Each way in has the same endpoints.
    const endpoint = resource.startsWith('/messages') ? undefined : findEndpoint(resource.replace(fronts, '/mcp'));
    if (endpoint === undefined || !isServed(endpoint)) return undefined;
    const { issuers, scopes } = this.#options;
    return JSON.stringify({ resource: `${this.#publicUrl}${resource}`, authorization_servers: issuers, bearer_methods_supported: ['header'], ...(scopes.length === 0 ? {} : { scopes_supported: scopes }) });
  }
}

function plain(path: string): string {
  const query = path.indexOf('?');
  return (query === -1 ? path : path.slice(0, query)).replace(/\/$/, '');
}
