/**
 * The catalogue of the gateway by the API of the MCP registry (its OpenAPI document of 2025-12-01): the endpoints of servers and profiles that a caller may use.
 * Clients that know registries find them there.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { enabledServers, hasEndpoint, serversFor, type Config } from '@omnibus/config';
import type { Callers, Site } from '@omnibus/edge';
import { TokenBuckets } from '@omnibus/lifecycle';
import { httpStatusOf, version, type Caller, type EndpointName, type JsonObject } from '@omnibus/protocol';
import { readMethods, Routes, sendJson, type Logger } from '@omnibus/telemetry';

export interface CatalogueOptions {
  readonly config: Config;
  /** Authenticates requests. */
  readonly callers: Pick<Callers, 'admit' | 'challenge'>;
  /** Base URL at which clients reach the gateway. */
  readonly base: () => string;
  /** Tests whether a caller may see a server, by the rules in force. */
  readonly sees: (caller: Caller) => (server: string) => boolean;
  readonly log: Logger;
}

interface Found {
  readonly name: string;
  readonly server: JsonObject;
}

type Answer = (
  all: readonly Found[],
  params: Readonly<Record<string, string>>,
  query: URLSearchParams,
) => object | undefined;

const schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const usualLimit = 30;
const maxLimit = 100;
/** Rate limit of requests, for each IP address. */
const rate = { burst: 100, everyMs: 1_000, maxNames: 10_000 };

const responseOf = ({ server }: Found): object => ({ server, _meta: {} });

const list: Answer = (all, _params, query) => {
  const words = (query.get('search') ?? '').toLowerCase();
  const wanted = query.get('version') ?? 'latest';
  const after = Buffer.from(query.get('cursor') ?? '', 'base64url').toString();
  const rest = all.filter(
    ({ name }) => name > after && name.toLowerCase().includes(words) && (wanted === 'latest' || wanted === version),
  );
  const asked = Math.trunc(Number(query.get('limit') ?? usualLimit));
  const shown = rest.slice(0, Math.min(Math.max(Number.isNaN(asked) ? usualLimit : asked, 1), maxLimit));
  const last = shown.at(-1);
  const next =
    last !== undefined && shown.length < rest.length ? Buffer.from(last.name).toString('base64url') : undefined;
  return {
    servers: shown.map(responseOf),
    metadata: { count: shown.length, ...(next === undefined ? {} : { nextCursor: next }) },
  };
};

const versions: Answer = (all, { name }) => {
  const found = all.filter((each) => each.name === name);
  return found.length === 0 ? undefined : { servers: found.map(responseOf), metadata: { count: found.length } };
};

const one: Answer = (all, { name, version: wanted }) => {
  const found = all.find((each) => each.name === name && (wanted === 'latest' || wanted === version));
  return found === undefined ? undefined : responseOf(found);
};

export class CatalogueSite implements Site {
  readonly #options: CatalogueOptions;
  readonly #asked = new TokenBuckets(rate);
  #config: Config;
  readonly #routes = new Routes<Answer>(
    ['/v0', '/v0.1'].flatMap((root) => [
      [readMethods, `${root}/servers`, list] as const,
      [readMethods, `${root}/servers/:name/versions`, versions] as const,
      [readMethods, `${root}/servers/:name/versions/:version`, one] as const,
    ]),
  );

  constructor(options: CatalogueOptions) {
    this.#options = options;
    this.#config = options.config;
  }

  apply(config: Config): void {
    this.#config = config;
  }

  handles(path: string): boolean {
    return this.#config.catalogue && this.#routes.has(path.split('?', 1)[0] as string);
  }

  handle(request: IncomingMessage, response: ServerResponse, address: string): void {
    const wait = this.#asked.take(address);
    if (wait > 0) {
      request.resume();
      response.setHeader('retry-after', wait);
      sendJson(response, 429, { error: 'too many requests from this address' });
      return;
    }
    this.#serve(request, response).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a request for the catalogue has failed');
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: 'the gateway has failed' });
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const { callers, base, sees } = this.#options;
    const path = request.url ?? '/';
    const url = new URL(path, 'http://gateway');
    const route = this.#routes.find(request.method ?? '', url.pathname);
    if (route.kind === 'method') response.setHeader('allow', route.allowed);
    if (route.kind !== 'route') {
      sendJson(response, route.kind === 'method' ? 405 : 404, { error: 'the catalogue has no such operation' });
      return;
    }
    const verdict = await callers.admit(request, path, '' as EndpointName);
    if ('fault' in verdict) {
      const challenge = callers.challenge(verdict.fault, path);
      if (challenge !== undefined) response.setHeader('www-authenticate', challenge);
      sendJson(response, httpStatusOf(verdict.fault.reason), { error: verdict.fault.message });
      return;
    }
    const all = entriesOf(this.#config, verdict.tenant, sees(verdict.caller), base());
    const answer = route.to(all, route.params, url.searchParams);
    if (answer === undefined) sendJson(response, 404, { error: 'Server not found' });
    else sendJson(response, 200, answer);
  }
}

/** The endpoints of servers and profiles that a caller may use, by name. */
function entriesOf(
  config: Config,
  tenant: string | undefined,
  sees: (server: string) => boolean,
  base: string,
): readonly Found[] {
  const servers = serversFor(config, tenant).filter(sees);
  const profiles = Object.entries(config.profiles).flatMap(([name, profile]) => {
    const own = profile.servers ?? [...enabledServers(config).keys()];
    return hasEndpoint(config, name, tenant) && own.some((each) => servers.includes(each)) ? [name] : [];
  });
  const origin = base.replace(/\/$/, '');
  const space = new URL(base).hostname
    .replaceAll(/[[\]:]/g, '-')
    .split('.')
    .toReversed()
    .join('.');
  const found = [
    ...servers.map((name) => [name, 'MCP server'] as const),
    ...profiles.map((name) => [name, 'Selection of MCP servers'] as const),
  ].map(([endpoint, what]) => {
    const name = `${space}/${endpoint}`;
    return {
      name,
      server: {
        $schema: schema,
        name,
        title: endpoint,
        description: `${what} behind an MCP gateway`,
        version,
        remotes: [{ type: 'streamable-http', url: `${origin}/mcp/${endpoint}`, ...authorizationOf(config) }],
      },
    };
  });
  return found.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** The header that callers need; none where a client finds out by itself how its user signs in. */
function authorizationOf({ auth }: Config): JsonObject {
  const needsKey = auth !== undefined && auth !== 'none' && auth.server === undefined && auth.issuers.length === 0;
  return needsKey
    ? {
        headers: [
          {
            name: 'Authorization',
            value: 'Bearer {key}',
            isRequired: true,
            variables: { key: { description: 'API key of the gateway', isRequired: true, isSecret: true } },
          },
        ],
      }
    : {};
}
