/** Registries of MCP servers, against one that a test scripts: searches, entries of the configuration, and descriptions that mean harm. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '@omnibus/config';
import { addServer } from '../commands/servers.ts';
import { entryFrom, searchRegistry, type FromOptions } from '../commands/registry.ts';

const digest = `sha256:${'a'.repeat(64)}`;
let server: Server;
let registry: string;
let folder: string;
let said: string;
let asked: IncomingMessage[];
/** Answers by path, with its query. */
let pages: Record<string, unknown>;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  asked = [];
  pages = {};
  server = createServer((request, response) => {
    asked.push(request);
    const url = new URL(request.url ?? '', 'http://registry');
    if (url.pathname.startsWith('/v2/')) {
      const isKnown = request.headers.authorization === 'Bearer reader';
      const challenge = `Bearer realm="${registry}/token",service="images",scope="repository:acme/db:pull"`;
      response
        .writeHead(
          isKnown ? 200 : 401,
          isKnown ? { 'docker-content-digest': digest } : { 'www-authenticate': challenge },
        )
        .end();
      return;
    }
    const page =
      url.pathname === '/token' ? { token: 'reader' } : pages[`${url.pathname}${url.searchParams.get('cursor') ?? ''}`];
    response
      .writeHead(page === undefined ? 404 : typeof page === 'number' ? page : 200)
      .end(JSON.stringify(page ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), 'omnibus-registry-'));
  said = '';
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((words) => {
      said += String(words);
      return true;
    });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.useRealTimers();
  process.exitCode = undefined;
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const official = (server: object, status = 'active'): object => ({
  server,
  _meta: { 'io.modelcontextprotocol.registry/official': { status } },
});

describe('a search', () => {
  const search = (words: readonly string[], limit = 30): Promise<void> =>
    searchRegistry(words, { registry, limit, json: true });

  it('reads all pages, and sends the words and the token', async () => {
    vi.stubEnv('OMNIBUS_REGISTRY_TOKEN', 'secret');
    const remotes = [{ type: 'streamable-http', url: 'https://x.example/mcp' }];
    pages['/v0.1/servers'] = {
      servers: [official({ name: 'a/one', version: '1.0.0', remotes })],
      metadata: { nextCursor: 'c2' },
    };
    pages['/v0.1/serversc2'] = {
      servers: [official({ name: 'a/two', version: '2.0.0' }), official({ name: 'a/gone' }, 'deleted')],
      metadata: {},
    };
    await search(['a']);
    expect(JSON.parse(said)).toEqual({
      servers: [
        { name: 'a/one', version: '1.0.0', ways: ['remote'], description: '', status: 'active' },
        { name: 'a/two', version: '2.0.0', ways: [], description: '', status: 'active' },
      ],
      isCut: false,
    });
    expect(asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret', 'Bearer secret']);
    expect(asked[0]?.url).toContain('search=a');
  });

  it('asks an earlier registry, which knows /v0 alone', async () => {
    pages['/v0/servers'] = {
      servers: [{ name: 'a/old', version_detail: { version: '0.1.0' } }],
      metadata: { next_cursor: '' },
    };
    await search([]);
    expect(JSON.parse(said)).toMatchObject({ servers: [{ name: 'a/old', version: '0.1.0' }] });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['has no such server', { '/v0.1/servers': { servers: [] } }, 'has no server with this in its name'],
    ['wants a token', { '/v0.1/servers': 401 }, 'needs a token'],
    ['is no registry', {}, 'it is no registry of MCP servers'],
    [
      'goes round in a circle',
      {
        '/v0.1/servers': { servers: [], metadata: { nextCursor: 'x' } },
        '/v0.1/serversx': { servers: [], metadata: { nextCursor: 'x' } },
      },
      'does not advance',
    ],
  ])('says that the registry %s', async (_what, given, problem) => {
    pages = given;
    await search(['a']);
    expect(said).toContain(problem);
  });

  it('sends no token over a network without TLS', async () => {
    vi.stubEnv('OMNIBUS_REGISTRY_TOKEN', 'secret');
    await searchRegistry([], { registry: 'http://registry.example', limit: 1, json: true });
    expect(said).toContain('would cross the network unencrypted');
  });
});

describe('an entry', () => {
  const entry = async (document: object, options: FromOptions = {}): Promise<unknown> => {
    const file = join(folder, 'server.json');
    writeFileSync(file, JSON.stringify({ name: 'a/b', version: '1.0.0', ...document }));
    return (await entryFrom(file, { input: false, ...options }, { name: 'it', folder })).entry;
  };
  const env = [{ name: 'API_KEY', isRequired: true, isSecret: true, description: 'the key' }];

  it('for an address has its headers and variables', async () => {
    const remotes = [
      { type: 'sse', url: 'https://x.example/sse' },
      {
        type: 'streamable-http',
        url: 'https://{region}.x.example/mcp',
        variables: { region: { isRequired: true, choices: ['eu', 'us'] } },
        headers: [
          { name: 'Authorization', value: 'Bearer {key}', isRequired: true, variables: { key: { isSecret: true } } },
          { name: 'X-Team' },
        ],
      },
    ];
    expect(await entry({ remotes }, { set: ['region=eu', 'key=${KEY}'] })).toEqual({
      url: 'https://eu.x.example/mcp',
      headers: { Authorization: 'Bearer ${KEY}' },
    });
    await expect(entry({ remotes }, { set: ['region=moon', 'key=k'] })).rejects.toThrow('"moon" is no value of region');
    await expect(entry({ remotes }, { set: ['region=eu'] })).rejects.toThrow('the server needs key');
  });

  it.each([
    ['npm', {}, { command: 'npx', args: ['-y', '@a/b@1.2.3', '--dir', '/x', '/one', '/two'] }],
    [
      'npm',
      { registryBaseUrl: 'https://npm.example' },
      {
        command: 'npx',
        args: ['-y', '--registry', 'https://npm.example', '@a/b@1.2.3', '--dir', '/x', '/one', '/two'],
      },
    ],
    ['pypi', { runtimeHint: 'uvx' }, { command: 'uvx', args: ['A.b@1.2.3', '--dir', '/x', '/one', '/two'] }],
    ['nuget', {}, { command: 'dnx', args: ['A.b@1.2.3', '--yes', '--', '--dir', '/x', '/one', '/two'] }],
  ])('for a package of %s names its launcher and exact version', async (registryType, more, launch) => {
    const found = await entry(
      {
        packages: [
          {
            registryType,
            identifier: registryType === 'npm' ? '@a/b' : 'A.b',
            version: '1.2.3',
            transport: { type: 'stdio' },
            environmentVariables: env,
            packageArguments: [
              { type: 'named', name: '--dir', default: '/x', isRequired: true },
              { type: 'positional', valueHint: 'path', isRequired: true, isRepeated: true },
            ],
            ...more,
          },
        ],
      },
      { set: ['API_KEY=${MINE}', 'path=/one', 'path=/two'] },
    );
    expect(found).toEqual({ ...launch, env: { API_KEY: '${MINE}' } });
  });

  it('for an image has its digest, read from its registry', async () => {
    const host = registry.slice('http://'.length);
    const packages = [
      {
        registryType: 'oci',
        identifier: `${host}/acme/db:1.0`,
        environmentVariables: env,
        runtimeArguments: [{ type: 'named', name: '--network', value: 'none' }],
      },
    ];
    const start = (image: string): object => ({
      command: 'docker',
      args: ['run', '-i', '--rm', '-e', 'API_KEY', '--network', 'none', image],
      env: { API_KEY: 'k' },
    });
    expect(await entry({ packages }, { set: ['API_KEY=k'] })).toEqual(start(`${host}/acme/db@${digest}`));
    expect(await entry({ packages }, { set: ['API_KEY=k'], pin: false })).toEqual(start(`${host}/acme/db:1.0`));
  });

  it.each<[string, object, string]>([
    ['a range', { packages: [{ registryType: 'npm', identifier: 'x', version: '^1.0.0' }] }, 'has no exact version'],
    [
      'a range without a sign',
      { packages: [{ registryType: 'npm', identifier: 'x', version: '1.2' }] },
      'exact version',
    ],
    [
      'a range with X',
      { packages: [{ registryType: 'npm', identifier: 'x', version: '1.X' }] },
      'has no exact version',
    ],
    ...[
      ['npm', '-c=touch /tmp/x;#'],
      ['npm', 'https://x.example/x.tgz'],
      ['npm', 'a/b'],
      ['pypi', '--with=evil'],
      ['pypi', 'x @ https://x.example/x.whl'],
      ['nuget', '--source=https://x.example'],
      ['oci', `--volume=/:/host@${digest}`],
      ['oci', '-v=/:/host'],
    ].map(([registryType, identifier]): [string, object, string] => [
      `the name ${identifier}`,
      { packages: [{ registryType, identifier, version: '1.0.0' }] },
      'is no name of a package',
    ]),
    ['the latest', { packages: [{ registryType: 'npm', identifier: 'x', version: 'latest' }] }, 'has no exact version'],
    [
      'a shell',
      { packages: [{ registryType: 'npm', identifier: 'x', version: '1.0.0', runtimeHint: 'sh' }] },
      'wants "sh" to start',
    ],
    [
      'a bundle without its digest',
      { packages: [{ registryType: 'mcpb', identifier: 'https://x/y.mcpb', version: '1' }] },
      'the registry has no SHA-256',
    ],
    [
      'a program that serves HTTP',
      {
        packages: [
          { registryType: 'npm', identifier: 'x', version: '1.0.0', transport: { type: 'sse', url: 'http://h' } },
        ],
      },
      'serves HTTP',
    ],
    ['nothing', {}, 'names no address and no package'],
    [
      'facts about callers',
      { remotes: [{ type: 'sse', url: 'https://x', headers: [{ name: 'A', value: '{principal.subject}' }] }] },
      'would send facts about callers',
    ],
  ])('is refused for %s', async (_what, document, problem) => {
    await expect(entry(document, { pin: false })).rejects.toThrow(problem);
  });

  it.each([
    ['a variable', '{a}{HOME_SECRET}', '$'],
    ['a file', '{a}{file:/etc/passwd}', '$'],
    ['a variable of the same name as an escaped one', '{a}{HOME_SECRET} ${HOME_SECRET}', '$'],
    ['a fact about callers', '{a}.subject}', '{principal'],
  ])('is refused if its texts together refer to %s', async (_what, value, part) => {
    for (const variable of [{ value: part }, { default: part, isRequired: true }]) {
      const header = { name: 'X-One', value, variables: { a: variable } };
      const remotes = [{ type: 'streamable-http', url: 'https://x.example/mcp', headers: [header] }];
      await expect(entry({ remotes })).rejects.toThrow('its texts together');
    }
  });

  it('names headers and variables with a secret part, and takes no secret where it would stay in the configuration', async () => {
    const secret = { isSecret: true, isRequired: true };
    const header = { name: 'X-One', value: 'Key {a}', variables: { a: secret } };
    const remote = { type: 'streamable-http', url: 'https://x.example/mcp', headers: [header] };
    const file = join(folder, 'server.json');
    writeFileSync(file, JSON.stringify({ name: 'a/b', remotes: [remote] }));
    const { secrets } = await entryFrom(file, { input: false, set: ['a=open'] }, { name: 'it', folder });
    expect([...secrets]).toContain('X-One');

    const inAddress = { remotes: [{ ...remote, url: 'https://x.example/{a}', headers: [], variables: { a: secret } }] };
    const argument = { type: 'named', name: '--key', ...secret };
    const inArguments = {
      packages: [{ registryType: 'npm', identifier: 'x', version: '1.0.0', packageArguments: [argument] }],
    };
    for (const [document, name] of [
      [inAddress, 'a'],
      [inArguments, '--key'],
    ] as const) {
      await expect(entry(document, { set: [`${name}=open`] })).rejects.toThrow('would stay in the configuration');
      expect(JSON.stringify(await entry(document, { set: [`${name}=\${MINE}`] }))).toContain('${MINE}');
    }
  });

  it('takes no file and no variable of this machine that the publisher names', async () => {
    vi.stubEnv('HOME_SECRET', 'mine');
    const headers = [
      { name: 'X-File', value: '${file:/etc/passwd}' },
      { name: 'X-Preset', default: '${HOME_SECRET}' },
      { name: 'HOME_SECRET', isSecret: true },
    ];
    const found = await entry({ remotes: [{ type: 'streamable-http', url: 'https://x.example/mcp', headers }] });
    const text = JSON.stringify({ mcpServers: { one: found } });
    const readFile = vi.fn(() => 'root');
    const loaded = loadConfig({ file: 'test', text, env: process.env, readFile });
    expect('config' in loaded && loaded.config.mcpServers['one']?.headers).toEqual({
      'X-File': '${file:/etc/passwd}',
      'X-Preset': '${HOME_SECRET}',
    });
    expect(readFile).not.toHaveBeenCalled();
  });
});

it('omnibus add writes a server of a registry, with its secrets in files', async () => {
  pages['/v0.1/servers/a%2Fb/versions/latest'] = official({
    name: 'a/b',
    version: '1.0.0',
    packages: [
      {
        registryType: 'npm',
        identifier: 'b',
        version: '1.0.0',
        environmentVariables: [{ name: 'PHRASE', isRequired: true, isSecret: true }],
      },
    ],
  });
  const config = join(folder, 'new.json');
  await addServer('one', [], { config, yes: true, try: false, registry, from: 'a/b', set: ['PHRASE=open'] } as never);
  const { mcpServers } = JSON.parse(readFileSync(config, 'utf8')) as {
    mcpServers: { one: { env: { PHRASE: string } } };
  };
  expect(mcpServers.one).toEqual({
    command: 'npx',
    args: ['-y', 'b@1.0.0'],
    env: { PHRASE: '${file:new.secrets/one-PHRASE}' },
  });
  expect(readFileSync(join(folder, 'new.secrets', 'one-PHRASE'), 'utf8')).toBe('open\n');
});

it('omnibus add shows what a registry gives before it starts it', async () => {
  pages['/v0.1/servers/a%2Fb/versions/latest'] = official({
    name: 'a/b',
    packages: [{ registryType: 'npm', identifier: 'b', version: '1.0.0' }],
  });
  const start = (): never => {
    expect(said).toContain('"b@1.0.0"');
    throw new Error('not started here');
  };
  const config = join(folder, 'new.json');
  await addServer('one', [], { config, registry, from: 'a/b', input: false, start } as never).catch(() => undefined);
  expect(said).toContain('not started here');
});
