/** The gateway's own catalogue by the API of the MCP registry, filtered by the rules of the caller, in both shapes; `omnibus search` and `add` read it. Also `add` of bundles. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { zipOf } from '@omnibus/cli/testing';
import type { JsonObject } from '@omnibus/protocol';
import { shapes } from '../support/gateway.ts';
import { inHere } from '../support/command-here.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { onTerminal } from '../support/terminal.ts';
import { Upstream } from '../support/upstream.ts';

describe.each(shapes)('%s', (shape) => {
  const stack = new AsyncDisposableStack();
  let origin: string;
  let keys: Keys;

  beforeAll(async () => {
    const upstream = await Upstream.start();
    stack.defer(() => upstream.stop());
    keys = stack.use(await Keys.make('ann', 'bob'));
    const { url } = upstream;
    const gateway = stack.use(
      await startGatewayHere(shape, {
        auth: keys.auth,
        access: {
          rules: [
            { id: 'ann', who: 'key:ann', allow: ['crm', 'mail'] },
            { id: 'bob', who: 'key:bob', allow: ['mail/echo'] },
          ],
        },
        profiles: { sales: { servers: ['crm'] }, all: {} },
        mcpServers: { crm: { url }, mail: { url }, off: { url, disabled: true } },
      }),
    );
    ({ origin } = new URL(gateway.url));
  });
  afterAll(() => stack.disposeAsync());

  const get = async (path: string, who: string): Promise<{ status: number; body: JsonObject }> => {
    const answer = await fetch(`${origin}${path}`, { headers: keys.headersOf(who) });
    return { status: answer.status, body: (await answer.json()) as JsonObject };
  };
  const namesIn = ({ body }: { body: JsonObject }): readonly string[] =>
    (body['servers'] as readonly { readonly server: { readonly title: string } }[]).map(({ server }) => server.title);

  it.each(['/v0', '/v0.1'])('a caller finds the endpoints that its rules show, at %s', async (root) => {
    expect(namesIn(await get(`${root}/servers`, 'ann'))).toEqual(['all', 'crm', 'mail', 'sales']);
    expect(namesIn(await get(`${root}/servers`, 'bob'))).toEqual(['all', 'mail']);
    expect(namesIn(await get(`${root}/servers?search=MAI`, 'ann'))).toEqual(['mail']);
    const first = await get(`${root}/servers?limit=3`, 'ann');
    expect(namesIn(first)).toEqual(['all', 'crm', 'mail']);
    const { nextCursor } = first.body['metadata'] as { readonly nextCursor: string };
    expect(namesIn(await get(`${root}/servers?limit=3&cursor=${nextCursor}`, 'ann'))).toEqual(['sales']);
    const [, found] = (await get(`${root}/servers`, 'ann')).body['servers'] as readonly { server: JsonObject }[];
    const name = String(found?.server['name']);
    const path = `${root}/servers/${encodeURIComponent(name)}/versions`;
    expect((await get(`${path}/latest`, 'ann')).body).toEqual(found);
    expect(namesIn(await get(path, 'ann'))).toEqual(['crm']);
    // A server that the rules hide is one that is not there.
    expect(await get(`${path}/latest`, 'bob')).toEqual({ status: 404, body: { error: 'Server not found' } });
  });

  it('a request whose target is a whole address, as a proxy sends it, is answered too (RFC 9112, 3.2.2)', async () => {
    const { hostname, port } = new URL(origin);
    const asked = request({ hostname, port, path: `${origin}/v0/servers`, headers: keys.headersOf('ann') }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(200);
  });

  it('a caller finds the same endpoints by the catalogue of server cards, and each card', async () => {
    const found = await get('/.well-known/mcp/catalog.json', 'ann');
    const entries = found.body['entries'] as readonly { readonly url: string }[];
    expect(found.body).toMatchObject({
      specVersion: 'draft',
      entries: ['all', 'crm', 'mail', 'sales'].map((name) => ({
        identifier: `urn:air:127.0.0.1:${name}`,
        displayName: name,
        type: 'application/mcp-server-card+json',
        url: `${origin}/mcp/${name}/server-card`,
      })),
    });
    const answer = await fetch(entries[1]?.url ?? '', { headers: keys.headersOf('ann') });
    expect(answer.headers.get('content-type')).toBe('application/mcp-server-card+json');
    expect(answer.headers.get('cache-control')).toBe('private, max-age=60');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    const card = (await answer.json()) as JsonObject;
    expect(card).toMatchObject({
      $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
      title: 'crm',
      remotes: [
        {
          type: 'streamable-http',
          url: `${origin}/mcp/crm`,
          headers: [{ name: 'Authorization', isRequired: true }],
          supportedProtocolVersions: expect.arrayContaining(['2024-11-05', '2026-07-28']) as string[],
        },
      ],
    });
    expect(card['name']).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    // A server that the rules hide has no card, and no place in the catalogue.
    const hers = await get('/.well-known/mcp/catalog.json', 'bob');
    expect((hers.body['entries'] as readonly { displayName: string }[]).map(({ displayName }) => displayName)).toEqual([
      'all',
      'mail',
    ]);
    expect((await get('/mcp/crm/server-card', 'bob')).status).toBe(404);
    expect((await fetch(`${origin}/mcp/crm/server-card`)).status).toBe(401);
    expect((await get('/mcp/off/server-card', 'ann')).status).toBe(404);
    const asked = await fetch(`${origin}/mcp/crm/server-card`, { method: 'OPTIONS' });
    expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'content-type, authorization',
    ]);
  });

  it('a request without a key is refused, and one that would change something too', async () => {
    const unknown = await fetch(`${origin}/v0/servers`);
    expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')]);
    const published = await fetch(`${origin}/v0/servers`, { method: 'POST', headers: keys.headersOf('ann') });
    expect([published.status, published.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('omnibus search and add read it as they read any registry', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-catalogue-'));
    const env = {
      OMNIBUS_REGISTRY: origin,
      OMNIBUS_REGISTRY_TOKEN: String(keys.headersOf('bob')['authorization']).slice('Bearer '.length),
    };
    const found = await inHere(['search', 'mail', '--json'], { env });
    const { servers } = JSON.parse(found.stdout) as { servers: readonly { name: string; ways: readonly string[] }[] };
    expect(servers).toMatchObject([{ ways: ['remote'] }]);
    const config = join(folder, 'omnibus.json');
    const added = await inHere(
      [
        'add',
        'far',
        '--from',
        String(servers[0]?.name),
        '--set',
        'key=${KEY}',
        '--no-try',
        '--yes',
        '--config',
        config,
      ],
      { env },
    );
    expect(added).toMatchObject({ status: 0 });
    expect(JSON.parse(await readFile(config, 'utf8'))).toEqual({
      mcpServers: { far: { url: `${origin}/mcp/mail`, headers: { Authorization: 'Bearer ${KEY}' } } },
    });
    await rm(folder, { recursive: true });
  });

  it('one address cannot keep the gateway busy with questions', async () => {
    const before = await get('/v0/servers', 'ann');
    expect(before.status).toBe(200);
    const flood = Array.from({ length: 150 }, async () => fetch(`${origin}/v0/servers`));
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });
});

/** A server that says its setting, as a bundle. */
const bundle = zipOf([
  {
    name: 'manifest.json',
    text: JSON.stringify({
      manifest_version: '0.3',
      name: 'greeter',
      version: '1.0.0',
      server: {
        type: 'node',
        entry_point: 'server/index.mjs',
        mcp_config: {
          command: 'node',
          args: ['${__dirname}/server/index.mjs', '${user_config.word}'],
          env: { PHRASE: '${user_config.phrase}' },
        },
      },
      user_config: { word: { type: 'string', default: 'hello' }, phrase: { sensitive: true, required: true } },
      compatibility: { runtimes: { node: '>=18' } },
    }),
  },
  {
    name: 'server/index.mjs',
    text: `
import { createInterface } from 'node:readline';
const tools = [{ name: process.argv[2] + '_' + process.env.PHRASE.length, inputSchema: { type: 'object' } }];
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = method === 'initialize'
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'greeter', version: '1' } }
    : method === 'tools/list' ? { tools } : undefined;
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result }) }) + '\\n');
}`,
  },
]);

it('omnibus add unpacks a bundle, of a file or as a registry names it, and starts its server; with another digest it does neither', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-bundle-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const [config, file, document] = ['omnibus.json', 'greeter.mcpb', 'server.json'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await writeFile(file, bundle);
  const of = (from: string, name: string) =>
    inHere(['add', name, '--from', from, '--set', 'phrase=s3cret', '--yes', '-c', config]);
  const added = await of(file, 'one');
  expect(added.stderr).toContain('the bundle needs node >=18');
  expect(added.stderr).toContain('one is up: 1 tool');
  const written = JSON.parse(await readFile(config, 'utf8')) as { mcpServers: { one: JsonObject } };
  const [place = ''] = await readdir(join(folder, 'bundles'));
  expect(written.mcpServers.one).toEqual({
    command: 'node',
    args: [join(folder, 'bundles', place, 'server/index.mjs'), 'hello'],
    cwd: join(folder, 'bundles', place),
    env: { PHRASE: '${file:omnibus.secrets/one-PHRASE}' },
  });
  const server = createServer((asked, response) =>
    asked.url === '/release'
      ? response.writeHead(302, { location: '/file' }).end()
      : response.writeHead(200).end(bundle),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  const describe = (fileSha256: string): Promise<void> =>
    writeFile(
      document,
      JSON.stringify({
        name: 'a/b',
        packages: [
          {
            registryType: 'mcpb',
            identifier: `http://127.0.0.1:${(server.address() as AddressInfo).port}/release`,
            fileSha256,
          },
        ],
      }),
    );
  await describe('0'.repeat(64));
  const refused = await of(document, 'two');
  expect(refused.stderr).toContain('the bundle is refused: its SHA-256 is');
  expect(await readdir(join(folder, 'bundles'))).toHaveLength(1);
  await describe(createHash('sha256').update(bundle).digest('hex'));
  expect((await of(document, 'two')).stderr).toContain('two is up: 1 tool');
  expect(await readdir(join(folder, 'bundles'))).toHaveLength(2);
});

it('omnibus add unpacks a bundle that it does not try only after the person has agreed to write', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-bundle-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'greeter.mcpb');
  await writeFile(file, bundle);
  const command = ['add', 'one', '--from', file, '--no-try', '--set', 'phrase=${PHRASE}', '-c', join(folder, 'o.json')];
  const answered = (answer: string) => onTerminal(command, [[/Write this\?/, answer]], { env: {}, cwd: folder });
  const refused = await answered('n\r');
  expect(refused.shown).toContain('o.json was not changed');
  expect(await readdir(folder)).toEqual(['greeter.mcpb']);
  expect((await answered('y\r')).status).toBe(0);
  expect(await readdir(join(folder, 'bundles'))).toEqual([expect.stringMatching(/^one-/)]);
  // The configuration has it already, and its folder is back.
  await rm(join(folder, 'bundles'), { recursive: true });
  expect((await inHere([...command, '--yes'])).stdout).toContain('has that already');
  expect(await readdir(join(folder, 'bundles'))).toHaveLength(1);
});
