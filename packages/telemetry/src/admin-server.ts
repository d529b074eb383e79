import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics.ts';

export interface AdminOptions {
  readonly host: string;
  readonly port: number;
  readonly metrics: Metrics;
  /** What keeps the process from serving, in words; empty when it is ready. */
  readonly notReady: () => readonly string[];
  /** What `/status` shows, as JSON. */
  readonly status: () => unknown;
}

export interface AdminServer {
  readonly address: string;
  close(): Promise<void>;
}

/** `/metrics` for Prometheus, `/status` for `omnibus status`, `/healthz` (the process answers) and `/readyz` (it can serve) for whoever runs it. */
export async function startAdminServer({ host, port, metrics, notReady, status: readStatus }: AdminOptions): Promise<AdminServer> {
  const server: Server = createServer((request, response) => {
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type }).end(text);
    };
    switch (request.url?.split('?')[0]) {
      case '/metrics':
        metrics.text().then(
          (text) => answer(200, text, metrics.registry.contentType),
          (error: unknown) => answer(500, String(error)),
        );
        return;
      case '/status':
        answer(200, `${JSON.stringify(readStatus(), null, 2)}\n`, 'application/json');
        return;
      case '/healthz':
        answer(200, 'ok\n');
        return;
      case '/readyz': {
        const problems = notReady();
        answer(problems.length === 0 ? 200 : 503, problems.length === 0 ? 'ready\n' : `${problems.join('\n')}\n`);
        return;
      }
      default:
        answer(404, 'this port serves /metrics, /status, /healthz and /readyz\n');
    }
  });
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
