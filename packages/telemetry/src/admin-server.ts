import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import { once } from 'node:events';
import { isIP, type AddressInfo, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { AdminAct } from './admin-acts.ts';
import type { Metrics } from './metrics.ts';
import { readMethods, Routes } from './routes.ts';

export interface AdminAnswer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers some of the paths itself, with pages and streams. Only `Host` is checked before; every other check is its own. */
export interface AdminSite {
  /** @param path without what follows `?`. */
  readonly covers: (path: string) => boolean;
  readonly serve: (request: IncomingMessage, response: ServerResponse, path: string) => void | Promise<void>;
  /** Rewrites a refusal of the port for these paths; left out, it is sent as it is. */
  readonly refusal?: (refused: AdminAnswer) => AdminAnswer;
}

export interface AdminOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: Metrics;
  /** The text of `/metrics`. Default: the metrics of this process. */
  readonly metricsText?: (() => Promise<string>) | undefined;
  /** Names that `Host` may have, in addition to this machine's and any address. */
  readonly allowedHosts: readonly string[];
  /** Undefined when it speaks plain HTTP. */
  readonly tls?: TlsOptions | undefined;
  /** What keeps the process from serving, in words; empty when it is ready. */
  readonly notReady: () => readonly string[];
  /** What `/status` answers to a request, as JSON. */
  readonly status: (request: IncomingMessage) => unknown;
  /** The refusal of a request; undefined when it is permitted. */
  readonly guard: (
    request: IncomingMessage,
    path: string,
    act: AdminAct,
  ) => AdminAnswer | undefined | Promise<AdminAnswer | undefined>;
  /** Asked in this order, after the paths that are open to any `Host` and before all others. */
  readonly sites?: readonly AdminSite[];
  /** Called when something throws unexpectedly. */
  readonly onFault: (what: string, error: unknown) => void;
}

export interface AdminServer {
  readonly address: string;
  /** Uses other certificates for new connections; only when it speaks TLS. */
  renew(tls: TlsOptions): void;
  close(): Promise<void>;
}

/**
 * Limits for the few small requests of operators. The port is an HTTP server of its own, so that clients of the gateway cannot use up its
 * connections; and no request to it can hold one for long.
 */
const bounds = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const;
const maxConnections = 128;
/** A connection without traffic is closed after this time, also one with an unread answer. */
const stillMs = 30_000;

/** Serves `/metrics` for Prometheus, `/status` for `omnibus status`, `/healthz` (the process answers), `/readyz` (it can serve), and its sites. */
export async function startAdminServer(options: AdminOptions): Promise<AdminServer> {
  const { host, port, tls, onFault } = options;
  const receive = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response, options)
      .catch((error: unknown): AdminAnswer => {
        onFault('a request to the admin port failed', error);
        return { status: 500, text: 'this failed; the log says why\n' };
      })
      .then((said) => {
        if (said === 'answered') return;
        if (response.headersSent) response.destroy();
        else writeAnswer(response, said);
      })
      .catch((error: unknown) => onFault('an answer of the admin port failed', error));
  };
  const server: Server =
    tls === undefined
      ? createServer(bounds, receive)
      : createSecureServer({ ...bounds, ...tls, handshakeTimeout: bounds.headersTimeout }, receive);
  server.maxConnections = maxConnections;
  server.setTimeout(stillMs);
  // Node's own list lacks connections during their TLS handshake.
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

interface Path {
  /** These paths are requested under any address or name of a cluster, and their answers are of no use to a web page. */
  readonly isForAnyHost: boolean;
  readonly answer: (options: AdminOptions, request: IncomingMessage) => AdminAnswer | Promise<AdminAnswer>;
}

const routes = new Routes<Path>([
  [readMethods, '/healthz', { isForAnyHost: true, answer: () => ({ status: 200, text: 'ok\n' }) }],
  [readMethods, '/readyz', { isForAnyHost: true, answer: readiness }],
  [readMethods, '/metrics', { isForAnyHost: true, answer: metricsPage }],
  [
    readMethods,
    '/status',
    {
      isForAnyHost: false,
      answer: async ({ guard, status }, request) =>
        (await guard(request, request.url ?? '', 'status')) ?? json(200, status(request)),
    },
  ],
]);

function readiness({ notReady }: AdminOptions): AdminAnswer {
  const problems = notReady();
  return problems.length === 0 ? { status: 200, text: 'ready\n' } : { status: 503, text: `${problems.join('\n')}\n` };
}

async function metricsPage(
  { guard, metrics, metricsText = () => metrics.text() }: AdminOptions,
  request: IncomingMessage,
): Promise<AdminAnswer> {
  return (
    (await guard(request, request.url ?? '', 'metrics')) ?? {
      status: 200,
      text: await metricsText(),
      type: metrics.registry.contentType,
    }
  );
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: AdminOptions,
): Promise<AdminAnswer | 'answered'> {
  const { method = '', url = '/', headers } = request;
  const path = url.split('?', 1)[0] as string;
  const found = routes.find(method, path);
  if (found.kind === 'route' && found.to.isForAnyHost) return found.to.answer(options, request);
  const site = options.sites?.find((each) => each.covers(path));
  if (!isOurs(headers.host, options.allowedHosts)) {
    const refused = { status: 403, text: 'this Host is neither an address nor on security.allowedHosts\n' };
    return site?.refusal?.(refused) ?? refused;
  }
  if (site !== undefined) {
    await site.serve(request, response, path);
    return 'answered';
  }
  if (found.kind === 'route') return found.to.answer(options, request);
  if (found.kind === 'method')
    return { status: 405, text: `${path} takes ${found.allowed}\n`, headers: { allow: found.allowed } };
  return { status: 404, text: 'this port serves /api/v1, /metrics, /status, /healthz, /readyz\n' };
}

function json(status: number, value: unknown): AdminAnswer {
  return {
    status,
    text: `${JSON.stringify(value, null, 2)}\n`,
    type: 'application/json',
    headers: { 'cache-control': 'no-store' },
  };
}

/** A page that rebinds its DNS name to this machine sends that name as Host; an address cannot be rebound. */
function isOurs(host: string | undefined, allowedHosts: readonly string[]): boolean {
  if (host === undefined) return false;
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return (
    name === 'localhost' ||
    isIP(name.replace(/^\[|\]$/g, '')) !== 0 ||
    allowedHosts.some((allowed) => allowed.toLowerCase() === name)
  );
}

/** Writes a whole answer. */
export function writeAnswer(
  response: ServerResponse,
  { status, text, type = 'text/plain; charset=utf-8', headers }: AdminAnswer,
): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), ...headers }).end(text);
}
