import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { isIP, type AddressInfo } from 'node:net';
import type { Metrics } from './metrics.ts';

export interface AdminOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: Metrics;
  /** Names the port may be called by, besides this machine's and any address. */
  readonly allowedHosts: readonly string[];
  /** What keeps the process from serving, in words; empty when it is ready. */
  readonly notReady: () => readonly string[];
  /** What `/status` shows, as JSON. */
  readonly status: () => unknown;
  /** Something failed that should not be able to. */
  readonly onFault: (what: string, error: unknown) => void;
}

export interface AdminServer {
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Whoever runs a gateway asks with a few small requests. The port is a server of its own, so that clients cannot take its
 * connections; nobody on it can take them for long either.
 */
const bounds = { maxHeaderSize: 8 * 1024, headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 10_000, connectionsCheckingInterval: 1_000 } as const;
const maxConnections = 128;
/** A connection on which nothing moves, an answer that nobody reads among them, is closed after so long. */
const stillMs = 30_000;

/** `/metrics` for Prometheus, `/status` for `omnibus status`, `/healthz` (the process answers) and `/readyz` (it can serve) for whoever runs it. */
export async function startAdminServer(options: AdminOptions): Promise<AdminServer> {
  const { host, port, onFault } = options;
  const server: Server = createServer(bounds, (request, response) => {
    answer(request, options).catch((error: unknown) => {
      onFault('a request to the admin port failed', error);
      return { status: 500, text: 'this failed; the log says why\n' };
    }).then((said) => write(response, said), (error: unknown) => onFault('an answer of the admin port failed', error));
  });
  server.maxConnections = maxConnections;
  server.setTimeout(stillMs);
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    address: `${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
  readonly allow?: string;
}

async function answer({ method, url = '/', headers }: IncomingMessage, { metrics, notReady, status, allowedHosts }: AdminOptions): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'this port takes GET\n', allow: 'GET, HEAD' };
  // These three are asked for by address and by names of the cluster, and show nothing that a page could use.
  switch (url.split('?', 1)[0]) {
    case '/metrics':
      return { status: 200, text: await metrics.text(), type: metrics.registry.contentType };
    case '/healthz':
      return { status: 200, text: 'ok\n' };
    case '/readyz': {
      const problems = notReady();
      return problems.length === 0 ? { status: 200, text: 'ready\n' } : { status: 503, text: `${problems.join('\n')}\n` };
    }
    default:
  }
  if (!isOurs(headers.host, allowedHosts)) return { status: 403, text: 'this Host is neither an address nor on security.allowedHosts\n' };
  if (url.split('?', 1)[0] === '/status') return { status: 200, text: `${JSON.stringify(status(), null, 2)}\n`, type: 'application/json' };
  return { status: 404, text: 'this port serves /metrics, /status, /healthz and /readyz\n' };
}

/** A page that rebinds its DNS name to this machine sends that name as Host; an address cannot be rebound. */
function isOurs(host: string | undefined, allowedHosts: readonly string[]): boolean {
  if (host === undefined) return false;
  const name = host.replace(/:\d+$/, '').toLowerCase();
  return name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) !== 0 || allowedHosts.some((allowed) => allowed.toLowerCase() === name);
}

function write(response: ServerResponse, { status, text, type = 'text/plain; charset=utf-8', allow }: Answer): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), ...(allow === undefined ? {} : { allow }) }).end(text);
}
