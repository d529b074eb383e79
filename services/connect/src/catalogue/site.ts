/**
 * The catalogue of the gateway by the API of the MCP registry (its OpenAPI document of 2025-12-01): the endpoints of servers and profiles that a caller may use.
 * Clients that know registries find them there. Others find the same endpoints by server cards (`cards.ts`).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '@omnibus/config';
import type { Callers, Site } from '@omnibus/edge';
import { TokenBuckets } from '@omnibus/lifecycle';
import { httpStatusOf, version, type Caller, type EndpointName } from '@omnibus/protocol';
import { readMethods, Routes, sendJson, type Logger } from '@omnibus/telemetry';
import { cardOf, cardType, catalogOf } from './cards.ts';
import { entriesOf, type Found } from './entries.ts';

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

type Answer = (
  all: readonly Found[],
  params: Readonly<Record<string, string>>,
  query: URLSearchParams,
  base: string,
) => object | undefined;

interface Route {
  readonly answer: Answer;
  /** The media type of discovery before a connection, which clients in browsers read too; undefined for the API of registries. */
  readonly discovery?: string;
}

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

const catalog: Answer = (all, _params, _query, base) => catalogOf(all, base);
const card: Answer = (all, { endpoint }) => cardOf(all, endpoint);
const discoveryMethods = `${readMethods}, OPTIONS`;

export class CatalogueSite implements Site {
  readonly #options: CatalogueOptions;
  readonly #asked = new TokenBuckets(rate);
  #config: Config;
  readonly #routes = new Routes<Route>([
    ...['/v0', '/v0.1'].flatMap((root) => [
      [readMethods, `${root}/servers`, { answer: list }] as const,
      [readMethods, `${root}/servers/:name/versions`, { answer: versions }] as const,
      [readMethods, `${root}/servers/:name/versions/:version`, { answer: one }] as const,
    ]),
    [discoveryMethods, '/.well-known/mcp/catalog.json', { answer: catalog, discovery: 'application/json' }],
    [discoveryMethods, '/mcp/:endpoint/server-card', { answer: card, discovery: cardType }],
  ]);

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
    const { answer, discovery } = route.to;
    if (discovery !== undefined) {
      openTo(response, this.#config);
      if (request.method === 'OPTIONS') {
        response.writeHead(204).end();
        return;
      }
    }
    const verdict = await callers.admit(request, path, '' as EndpointName);
    if ('fault' in verdict) {
      const challenge = callers.challenge(verdict.fault, path);
      if (challenge !== undefined) response.setHeader('www-authenticate', challenge);
      sendJson(response, httpStatusOf(verdict.fault.reason), { error: verdict.fault.message });
      return;
    }
    const all = entriesOf(this.#config, verdict.tenant, sees(verdict.caller), base());
    const found = answer(all, route.params, url.searchParams, base());
    if (found === undefined) sendJson(response, 404, { error: 'Server not found' });
    else if (discovery === undefined) sendJson(response, 200, found);
    else sendDiscovery(response, request.method === 'HEAD', discovery, found);
  }
}

/**
 * Lets pages of any origin read what a caller finds, if it needs a credential, which no page of another origin has. A gateway without `auth` is often on the
 * machine of its user, whose servers are no business of the pages in the browser there.
 */
function openTo(response: ServerResponse, { auth }: Config): void {
  const isPrivate = auth !== undefined && auth !== 'none';
  response.setHeader('cache-control', isPrivate ? 'private, max-age=60' : 'max-age=60');
  response.setHeader('vary', 'authorization');
  if (!isPrivate) return;
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'GET');
  response.setHeader('access-control-allow-headers', 'content-type, authorization');
}

function sendDiscovery(response: ServerResponse, isHead: boolean, type: string, found: object): void {
  const text = JSON.stringify(found);
  response.writeHead(200, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
  });
  response.end(isHead ? undefined : text);
}
