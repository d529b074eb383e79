/**
 * Every request to an MCP server over HTTP or WebSocket has the headers that the official SDK clients send too: firewalls refuse requests without a
 * `User-Agent`, and some servers those without a language.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { Heard } from '@omnibus/bus/testing';
import { defaultLimits, version } from '@omnibus/protocol';
import { Agents } from './agents.ts';
import { HttpSseTransport } from './http-sse.ts';
import { ReadingBudget } from './reading-budget.ts';
import { StreamableHttpTransport } from './streamable-http.ts';
import type { Transport } from './transport.ts';
import { silentTransport } from './transport-under-test.ts';
import { WebSocketTransport } from './websocket.ts';

type Make = (address: string, headers: Readonly<Record<string, string>>, agents: Agents) => Transport;

function optionsOf(url: string, headers: Readonly<Record<string, string>>, agents: Agents) {
  return {
    url,
    headers,
    dispatcher: agents.of(undefined),
    limits: defaultLimits,
    reading: new ReadingBudget({ maxBytes: 1_000_000, onWait: () => undefined }).share(),
    openTimeoutMs: 5_000,
    child: undefined,
  };
}

const kinds: readonly (readonly [string, Make])[] = [
  [
    'Streamable HTTP',
    (address, headers, agents) =>
      new StreamableHttpTransport(optionsOf(`http://${address}/`, headers, agents), silentTransport),
  ],
  [
    'HTTP+SSE',
    (address, headers, agents) =>
      new HttpSseTransport(optionsOf(`http://${address}/`, headers, agents), silentTransport),
  ],
  [
    'WebSocket',
    (address, headers) =>
      new WebSocketTransport(
        {
          url: `ws://${address}/`,
          headers,
          credentials: undefined,
          limits: defaultLimits,
          openTimeoutMs: 5_000,
          addresses: undefined,
          proxy: undefined,
          tls: undefined,
        },
        silentTransport,
      ),
  ],
];

it.each(kinds)(
  'over %s the gateway names itself and takes any language, or what the configuration says',
  async (_kind, make) => {
    const heard = new Heard<IncomingHttpHeaders>();
    const server = createServer((request, response) => {
      heard.add(request.headers);
      response.writeHead(403).end();
    });
    server.on('upgrade', ({ headers }, socket) => {
      heard.add(headers);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const agents = new Agents();
    for (const headers of [{}, { 'User-Agent': 'mine/1', 'Accept-Language': 'de' }]) {
      const transport = make(`127.0.0.1:${(server.address() as AddressInfo).port}`, headers, agents);
      await transport.open().catch(() => undefined);
      // HTTP+SSE and WebSocket have asked already.
      transport.request({ jsonrpc: '2.0', id: 1, method: 'initialize' });
      await heard.untilSome((each) => each['user-agent'] === (headers['User-Agent'] ?? `omnibus/${version}`));
      await transport.close();
    }
    expect(heard.values.map((each) => [each['user-agent'], each['accept-language']])).toEqual([
      [`omnibus/${version}`, '*'],
      ['mine/1', 'de'],
    ]);
    await agents.destroy();
    server.closeAllConnections();
    server.close();
  },
);
