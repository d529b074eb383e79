/** Numbers a double cannot hold go through the gateway as they were written: in arguments, results, schemas, progress and ids. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapes, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { RawClient } from '../support/raw-client.ts';

const written = ['9007199254740993', '-123456789012345678901234567890', '1.0', '1e400', '-0', '0.10'];
const list = `[${written.join(',')}]`;

/** Answers in text of its own making, so that nothing but the gateway touches a number. Keeps what it was sent, as text. */
function startTextServer(): { readonly server: Server; readonly bodies: string[] } {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      bodies.push(body);
      const { id, method, params } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string; params?: { _meta?: { progressToken?: number } } };
      const answer = (result: string): void => void response.writeHead(200, { 'content-type': 'application/json' }).end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
      switch (method) {
        case 'initialize':
          answer('{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"text","version":"1"}}');
          return;
        case 'tools/list':
          answer(`{"tools":[{"name":"carry","inputSchema":{"type":"object","properties":{"a":{"maximum":${written[0]},"default":1.0}}}}]}`);
          return;
        case 'tools/call':
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          if (params?._meta?.progressToken !== undefined) response.write(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${params._meta.progressToken},"progress":50.0,"total":100.0}}\n\n`);
          response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"numbers":${list}}}}\n\n`);
          return;
        case undefined:
        case 'server/discover':
          response.writeHead(request.method === 'GET' ? 405 : 400).end();
          return;
        default:
          response.writeHead(202).end();
      }
    });
  });
  return { server, bodies };
}

describe.each(shapes)('exact numbers, %s', (shape) => {
  const { server, bodies } = startTextServer();
  let gateway: GatewayUnderTest;
  let client: RawClient;

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    gateway = await startGateway(shape, { mcpServers: { text: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` } } });
    client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('carry'));
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    server.close();
  });

  it('arguments reach the server and results the client as they were written, progress too', async () => {
    const { body } = await client.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"carry","arguments":{"numbers":${list}},"_meta":{"progressToken":9007199254740995}}}`);
    expect(bodies.at(-1)).toContain(`"numbers":${list}`);
    expect(body).toContain(`"numbers":${list}`);
    expect(body).toContain('"progressToken":9007199254740995');
    expect(body).toContain('"progress":50.0,"total":100.0');
  });

  it('schemas in a list are as the server wrote them', async () => {
    const { body } = await client.request('tools/list');
    expect(body).toContain(`"maximum":${written[0]}`);
    expect(body).toContain('"default":1.0');
  });

  it('an id beyond 2^53 is answered as it was given, and can be cancelled', async () => {
    const { body } = await client.post('{"jsonrpc":"2.0","id":12345678901234567891,"method":"ping"}');
    expect(body).toContain('"id":12345678901234567891');
    const [first, second] = await Promise.all(['9007199254740993', '9007199254740992'].map((id) => client.post(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"carry","arguments":{}}}`)));
    expect(first?.body).toContain('"id":9007199254740993');
    expect(second?.body).toContain('"id":9007199254740992');
  });
});
