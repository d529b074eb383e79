/** An MCP server that demands a client certificate. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Authority } from '@omnibus/bus/testing';

/** Its only tool names the holder of the certificate. Each answer ends its connection. @param authority of the certificates. @returns its address. */
export async function startCertificateServer(stack: AsyncDisposableStack, authority: Authority): Promise<string> {
  const own = await authority.sign('server', [{ type: 'ip', value: '127.0.0.1' }]);
  const server = createServer(
    {
      cert: readFileSync(own.certFile),
      key: readFileSync(own.keyFile),
      ca: readFileSync(authority.caFile),
      requestCert: true,
      rejectUnauthorized: true,
    },
    (request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const name = String((request.socket as TLSSocket).getPeerCertificate().subject.CN);
          const { id, method } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as {
            readonly id?: number;
            readonly method?: string;
          };
          const results: Readonly<Record<string, object>> = {
            initialize: {
              protocolVersion: '2025-11-25',
              capabilities: { tools: {} },
              serverInfo: { name: 'tls', version: '1' },
            },
            'tools/list': { tools: [{ name: 'whose', inputSchema: { type: 'object' } }] },
            'tools/call': { content: [{ type: 'text', text: name }] },
            ping: {},
          };
          const result = results[method ?? ''];
          const status = request.method !== 'POST' ? 405 : id === undefined ? 202 : 200;
          response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
          response.end(
            status !== 200
              ? ''
              : JSON.stringify({
                  jsonrpc: '2.0',
                  id,
                  ...(result === undefined ? { error: { code: -32_601, message: 'unknown method' } } : { result }),
                }),
          );
        });
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
