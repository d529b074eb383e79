/** A server at Amazon Web Services, which checks the signature of every request, with credentials that change while the gateway runs. */
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';

const path = `/runtimes/${encodeURIComponent('arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/files')}/invocations?qualifier=DEFAULT`;
const scope = 'eu-central-1/bedrock-agentcore/aws4_request';

/** The credentials that are good now. */
let good = { id: 'AKIDFIRST', secret: 'first-secret-of-the-workload' };
const refused: string[] = [];
let folder: string;
let gateway: GatewayHere;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const mac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Signature Version 4 by its documentation, of the received request. */
function signatureOf({ method, url = '', headers }: IncomingMessage, body: string): string {
  const date = String(headers['x-amz-date']);
  const day = date.slice(0, 8);
  const names = ['host', 'x-amz-date'];
  const [place = '', query = ''] = url.split('?');
  const request = [
    method,
    place.split('/').map(encodeURIComponent).join('/'),
    query,
    ...names.map((name) => `${name}:${String(headers[name])}`),
    '',
    names.join(';'),
    sha256(body),
  ].join('\n');
  const key = ['eu-central-1', 'bedrock-agentcore', 'aws4_request'].reduce(mac, mac(`AWS4${good.secret}`, day));
  return `AWS4-HMAC-SHA256 Credential=${good.id}/${day}/${scope}, SignedHeaders=${names.join(';')}, Signature=${mac(key, ['AWS4-HMAC-SHA256', date, `${day}/${scope}`, sha256(request)].join('\n')).toString('hex')}`;
}

const server = createServer(
  (request, response) =>
    void (async () => {
      const body = await text(request);
      const json = (status: number, value: object): void =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
      if (request.url !== path || request.headers.authorization !== signatureOf(request, body)) {
        refused.push(String(request.headers.authorization));
        response.setHeader(
          'x-amzn-errortype',
          'UnrecognizedClientException:http://internal.amazon.com/coral/com.amazon.coral.service/',
        );
        json(403, { message: 'The security token included in the request is invalid.' });
        return;
      }
      if (request.method !== 'POST') {
        response.writeHead(405).end();
        return;
      }
      const { id, method } = JSON.parse(body) as { readonly id?: number; readonly method: string };
      const answers: Readonly<Record<string, object>> = {
        initialize: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'files', version: '1' },
        },
        'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: `read for ${good.id}` }] },
      };
      if (id === undefined) response.writeHead(202).end();
      else if (answers[method] === undefined)
        json(200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } });
      else json(200, { jsonrpc: '2.0', id, result: answers[method] });
    })(),
);

const share = (): Promise<void> =>
  writeFile(
    join(folder, 'credentials'),
    `[workload]\naws_access_key_id = ${good.id}\naws_secret_access_key = ${good.secret}\n`,
  );

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-aws-'));
  await share();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The SDK of AWS reads the variables of the process.
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'));
  vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  gateway = await startGatewayHere('nats', {
    mcpServers: {
      files: {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
        credentials: { kind: 'aws', service: 'bedrock-agentcore', region: 'eu-central-1', profile: 'workload' },
      },
    },
    log: { level: 'trace', format: 'json' },
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
  vi.unstubAllEnvs();
});

it('every request is signed, others are found when they are refused, and no secret is said anywhere', async () => {
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('read'));
  expect((await client.callTool('read')).last.result).toMatchObject({ content: [{ text: 'read for AKIDFIRST' }] });
  expect(refused).toEqual([]);
  good = { id: 'AKIDSECOND', secret: 'second-secret-of-the-workload' };
  await share();
  expect((await client.callTool('read')).last.result).toMatchObject({ content: [{ text: 'read for AKIDSECOND' }] });
  expect(refused.length).toBeGreaterThan(0);
  const said = gateway.processes.map((process) => process.output()).join('\n');
  expect(said).toContain('server is up');
  expect(said).not.toMatch(/-secret-of-the-workload|Signature=/);
});
