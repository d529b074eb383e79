import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import { once } from 'node:events';
import { isIP, type AddressInfo, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { AdminAct } from './admin-acts.ts';
import type { Metrics } from './metrics.ts';
import { maxSmallBodyBytes, readSmallBody } from './small-body.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request that is let in. */
export interface AdminExchange {
  readonly request: IncomingMessage;
  /** What follows the path of the act: the id in `/keys/ID`. */
  readonly rest: string | undefined;
  /** Text of at most `maxSmallBodyBytes` bytes. */
  readonly body: string;
}

export interface AdminRoute {
  /** The first part of the path: `keys`. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly act: AdminAct;
  /** Whether something follows the path. */
  readonly hasRest?: boolean;
  readonly run: (exchange: AdminExchange) => AdminAnswer | Promise<AdminAnswer>;
}

/** What answers a part of the paths by itself: pages and streams. Host is looked at before, everything else is its own. */
export interface AdminSite {
  /** @param path without what follows `?`. */
  readonly covers: (path: string) => boolean;
  readonly serve: (request: IncomingMessage, response: ServerResponse, path: string) => void | Promise<void>;
  /** A refusal of the port's own, in the words of this part; left out: as it is. */
  readonly refusal?: (refused: AdminAnswer) => AdminAnswer;
}

export interface AdminOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: Metrics;
  /** Names the port may be called by, besides this machine's and any address. */
  readonly allowedHosts: readonly string[];
  /** Undefined where it speaks plain HTTP. */
  readonly tls?: TlsOptions | undefined;
  /** What keeps the process from serving, in words; empty when it is ready. */
  readonly notReady: () => readonly string[];
  /** What `/status` shows whoever asks, as JSON. */
  readonly status: (request: IncomingMessage) => unknown;
  /** Why a request may not have what it asks for; undefined when it may. */
  readonly guard: (request: IncomingMessage, path: string, act: AdminAct) => AdminAnswer | undefined | Promise<AdminAnswer | undefined>;
  readonly routes: readonly AdminRoute[];
  /** Asked in their order, after what any Host may ask for and before everything else. */
  readonly sites?: readonly AdminSite[];
  /** Something failed that should not be able to. */
  readonly onFault: (what: string, error: unknown) => void;
}

export interface AdminServer {
  readonly address: string;
  /** New connections are given these from now on; only where it speaks TLS. */
  renew(tls: TlsOptions): void;
  close(): Promise<void>;
}

/**
 * Whoever runs a gateway asks with a few small requests. The port is a server of its own, so that clients cannot take its
 * connections; nobody on it can take them for long either.
 */
const bounds = { maxHeaderSize: 16 * 1024, headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 10_000, connectionsCheckingInterval: 1_000 } as const;
const maxConnections = 128;
/** A connection on which nothing moves, an answer that nobody reads among them, is closed after so long. */
const stillMs = 30_000;

/** `/metrics` for Prometheus, `/status` for `omnibus status`, `/healthz` (the process answers) and `/readyz` (it can serve) for whoever runs it, and what else it is given. */
export async function startAdminServer(options: AdminOptions): Promise<AdminServer> {
  const { host, port, tls, onFault } = options;
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response, options).catch((error: unknown): AdminAnswer => {
      onFault('a request to the admin port failed', error);
      return { status: 500, text: 'this failed; the log says why\n' };
    }).then((said) => {
      if (said === 'answered') return;
      if (response.headersSent) response.destroy();
      else writeAnswer(response, said);
    }).catch((error: unknown) => onFault('an answer of the admin port failed', error));
  };
  const server: Server = tls === undefined ? createServer(bounds, receive) : createSecureServer({ ...bounds, ...tls, handshakeTimeout: bounds.headersTimeout }, receive);
  server.maxConnections = maxConnections;
  server.setTimeout(stillMs);
  // The server's own list lacks connections that are in the middle of their TLS handshake.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  if (tls !== undefined) server.on('tlsClientError', () => options.metrics.tlsHandshakesFailed.inc());
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    address: `${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    renew: (changed) => (server as SecureServer).setSecureContext(changed),
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, options: AdminOptions): Promise<AdminAnswer | 'answered'> {
  const { method = '', url = '/', headers } = request;
  const { metrics, notReady, status, allowedHosts, guard, routes, sites = [] } = options;
  const path = url.split('?', 1)[0] as string;
  const isRead = method === 'GET' || method === 'HEAD';
  // These three are asked for by address and by names of the cluster, and show nothing that a page could use.
  if (isRead && path === '/healthz') return { status: 200, text: 'ok\n' };
  if (isRead && path === '/readyz') {
    const problems = notReady();
    return problems.length === 0 ? { status: 200, text: 'ready\n' } : { status: 503, text: `${problems.join('\n')}\n` };
  }
  if (isRead && path === '/metrics') return (await guard(request, url, 'metrics')) ?? { status: 200, text: await metrics.text(), type: metrics.registry.contentType };
  const site = sites.find((each) => each.covers(path));
  if (!isOurs(headers.host, allowedHosts)) {
    const refused = { status: 403, text: 'this Host is neither an address nor on security.allowedHosts\n' };
    return site?.refusal?.(refused) ?? refused;
  }
  if (site !== undefined) {
    await site.serve(request, response, path);
    return 'answered';
  }
  if (isRead && path === '/status') return (await guard(request, url, 'status')) ?? json(200, status(request));
  const [, name = '', rest, ...more] = path.split('/');
  const here = more.length > 0 ? [] : routes.filter((route) => route.name === name && (rest !== undefined) === (route.hasRest ?? false));
  const route = here.find((each) => each.method === (method === 'HEAD' ? 'GET' : method));
  if (route === undefined) {
    const allow = ['/healthz', '/readyz', '/metrics', '/status'].includes(path) ? 'GET, HEAD' : here.map((each) => each.method).join(', ');
    if (allow !== '') return { status: 405, text: `${path} takes ${allow}\n`, headers: { allow } };
    return { status: 404, text: `this port serves ${['/metrics', '/status', '/healthz', '/readyz', ...new Set(routes.map((each) => `/${each.name}`))].join(', ')}\n` };
  }
  // A page of somebody else can send a form to any address; browsers say where it comes from.
  if (route.method !== 'GET' && (headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none')) return { status: 403, text: 'no web page may do this\n' };
  const refusal = await guard(request, url, route.act);
  if (refusal !== undefined) return refusal;
  const body = route.method === 'GET' ? '' : await readSmallBody(request);
  if (body === undefined) return { status: 413, text: `a request may have ${maxSmallBodyBytes} bytes\n`, headers: { connection: 'close' } };
  const decoded = rest === undefined ? undefined : decodedPart(rest);
  if (rest !== undefined && decoded === undefined) return { status: 400, text: 'the address is malformed\n' };
  return route.run({ request, rest: decoded, body });
}

/** An answer as JSON. */
export function json(status: number, value: unknown): AdminAnswer {
  return { status, text: `${JSON.stringify(value, null, 2)}\n`, type: 'application/json', headers: { 'cache-control': 'no-store' } };
}

function decodedPart(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined; // Its sender is told that the address is malformed.
  }
}

/** A page that rebinds its DNS name to this machine sends that name as Host; an address cannot be rebound. */
function isOurs(host: string | undefined, allowedHosts: readonly string[]): boolean {
  if (host === undefined) return false;
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) !== 0 || allowedHosts.some((allowed) => allowed.toLowerCase() === name);
}

/** Says an answer whole. */
export function writeAnswer(response: ServerResponse, { status, text, type = 'text/plain; charset=utf-8', headers }: AdminAnswer): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), ...headers }).end(text);
}
