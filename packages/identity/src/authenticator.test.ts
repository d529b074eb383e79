import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootEndpoint, type EndpointName } from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Authenticator } from './authenticator.ts';
import type { Facts, Verdict } from './facts.ts';
import { formatKeys, newKey, type KeyRecord } from './key-file.ts';

let folder: string;
let file: string;
let authenticator: Authenticator | undefined;
const warnings: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-identity-'));
  file = join(folder, 'keys.yaml');
  warnings.length = 0;
});

afterEach(async () => {
  await authenticator?.close();
  await rm(folder, { recursive: true });
});

/** As the command line writes it. */
async function write(records: readonly KeyRecord[]): Promise<void> {
  await writeFile(`${file}.new`, formatKeys(records));
  await rename(`${file}.new`, file);
}

async function open(...records: readonly KeyRecord[]): Promise<Authenticator> {
  await write(records);
  authenticator = await Authenticator.open({
    ...none,
    keysFile: file,
    toolProblem: (pattern) => (pattern.startsWith('/') ? 'has no server' : undefined),
    warn: (details, text) => warnings.push(`${text} ${JSON.stringify(details)}`),
  });
  return authenticator;
}

const none = { issuers: [], resource: undefined, proxy: undefined };

function ask(
  authorization: string | undefined,
  endpoint = rootEndpoint,
  url = '/mcp',
  rawHeaders?: readonly string[],
): Facts | string {
  const headers = authorization === undefined ? {} : { authorization };
  const verdict = (authenticator as Authenticator).authenticate(
    { headers, rawHeaders: rawHeaders ?? Object.entries(headers).flat() },
    { url, endpoint, peer: '198.51.100.1', address: () => '198.51.100.1' },
  ) as Verdict;
  return 'fault' in verdict ? verdict.fault.reason : verdict;
}

it('a key proves whom it was made for, and keys of one name are one caller', async () => {
  const [first, second, other] = [
    newKey({ subject: 'ann', groups: ['staff'] }),
    newKey({ subject: 'ann', groups: [] }),
    newKey({ subject: 'bob', groups: [] }),
  ];
  await open(first.record, second.record, other.record);
  const facts = ask(`Bearer ${first.key}`) as Facts;
  expect(facts).toMatchObject({ issuer: 'omnibus:keys', subject: 'ann', groups: ['staff'], expiresAt: undefined });
  expect(ask(`bearer ${second.key}`)).toMatchObject({ principal: facts.principal });
  expect((ask(`Bearer ${other.key}`) as Facts).principal).not.toBe(facts.principal);
});

it('a key for some tools or endpoints alone says so, and opens no admin port; a file with a pattern that means nothing is not taken', async () => {
  const [narrow, near, wide] = [
    newKey({ subject: 'ann', groups: [], tools: ['git/get_*', 'prompt:git/*'] }),
    newKey({ subject: 'ann', groups: [], endpoints: [''] }),
    newKey({ subject: 'ann', groups: [] }),
  ];
  const opened = await open(narrow.record, near.record, wide.record);
  const atAdminPort = (key: string): Verdict =>
    opened.authenticate(
      { headers: { authorization: `Bearer ${key}` }, rawHeaders: [] },
      { url: '/reload', endpoint: rootEndpoint, isAdminPort: true, peer: '127.0.0.1', address: () => '127.0.0.1' },
    ) as Verdict;
  expect(ask(`Bearer ${narrow.key}`)).toMatchObject({
    subject: 'ann',
    tools: ['git/get_*', 'prompt:git/*'],
    isUnscoped: true,
  });
  expect(ask(`Bearer ${wide.key}`)).not.toHaveProperty('tools');
  for (const { key } of [narrow, near]) expect(atAdminPort(key)).toMatchObject({ fault: { reason: 'auth.endpoint' } });
  expect(atAdminPort(wide.key)).toMatchObject({ subject: 'ann' });
  await write([{ ...wide.record, tools: ['/get'] }]);
  await expect.poll(() => warnings.join()).toContain('\\"/get\\": has no server');
  expect(ask(`Bearer ${narrow.key}`)).toMatchObject({ tools: ['git/get_*', 'prompt:git/*'] });
});

it('keys of one name in two tenants are two callers', async () => {
  const made = ['acme', 'umbrella', undefined].map((tenant) => newKey({ subject: 'ann', tenant, groups: [] }));
  await open(...made.map(({ record }) => record));
  const facts = made.map(({ key }) => ask(`Bearer ${key}`) as Facts);
  expect(facts.map(({ tenant }) => tenant)).toEqual(['acme', 'umbrella', undefined]);
  expect(new Set(facts.map(({ principal }) => principal)).size).toBe(3);
});

it('names that a proxy writes in UTF-8 are the names of the configuration, and other bytes are read as Latin-1', async () => {
  authenticator = await Authenticator.open({
    ...none,
    proxy: { addresses: ['198.51.100.1'], userHeader: 'x-user', groupsHeader: 'x-groups', tenantHeader: 'x-tenant' },
    warn: () => undefined,
  });
  const known = authenticator;
  const wire = (text: string): string => Buffer.from(text).toString('latin1');
  const verdict = (user: string): Verdict | Promise<Verdict> =>
    known.authenticate(
      { headers: { 'x-user': user, 'x-groups': wire('Prüfer, 営業'), 'x-tenant': wire('Köln') }, rawHeaders: [] },
      { url: '/mcp', endpoint: rootEndpoint, peer: '198.51.100.1', address: () => '' },
    );
  expect(verdict(wire('Müller'))).toMatchObject({ subject: 'Müller', groups: ['Prüfer', '営業'], tenant: 'Köln' });
  expect(verdict('Müller')).toMatchObject({ subject: 'Müller' });
});

it('a proxy names nobody, no group and no tenant by a text with control characters, in whatever encoding', async () => {
  authenticator = await Authenticator.open({
    ...none,
    proxy: { addresses: ['198.51.100.1'], userHeader: 'x-user', groupsHeader: 'x-groups', tenantHeader: 'x-tenant' },
    warn: () => undefined,
  });
  const known = authenticator;
  const by = (changed: Readonly<Record<string, string>>): Verdict =>
    known.authenticate(
      { headers: { 'x-user': 'ann', 'x-groups': 'staff', 'x-tenant': 'acme', ...changed }, rawHeaders: [] },
      { url: '/mcp', endpoint: rootEndpoint, peer: '198.51.100.1', address: () => '' },
    ) as Verdict;
  expect(by({})).toMatchObject({ subject: 'ann', groups: ['staff'], tenant: 'acme' });
  const wire = (text: string): string => Buffer.from(text).toString('latin1');
  for (const header of ['x-user', 'x-groups', 'x-tenant']) {
    for (const strange of ['a\tb', 'a\u007Fb', 'a\u009Bb', wire('a\u009Bb'), wire('a\u2028b')])
      expect(by({ [header]: strange }), JSON.stringify([header, strange])).toMatchObject({
        fault: { reason: 'auth.invalid' },
      });
  }
});

it('a proxy that names tenants names one for everybody it lets through', async () => {
  authenticator = await Authenticator.open({
    ...none,
    proxy: { addresses: ['198.51.100.1'], userHeader: 'x-user', tenantHeader: 'x-tenant' },
    warn: () => undefined,
  });
  const by = (headers: Readonly<Record<string, string>>): Facts | string => {
    const verdict = (authenticator as Authenticator).authenticate(
      { headers, rawHeaders: Object.entries(headers).flat() },
      { url: '/mcp', endpoint: rootEndpoint, peer: '198.51.100.1', address: () => '198.51.100.1' },
    ) as Verdict;
    return 'fault' in verdict ? verdict.fault.reason : verdict;
  };
  const [one, two] = [by({ 'x-user': 'ann', 'x-tenant': 'acme' }), by({ 'x-user': 'ann', 'x-tenant': 'umbrella' })] as [
    Facts,
    Facts,
  ];
  expect([one.tenant, two.tenant]).toEqual(['acme', 'umbrella']);
  expect(one.principal).not.toBe(two.principal);
  for (const headers of [{ 'x-user': 'ann' }, { 'x-user': 'ann', 'x-tenant': '' }])
    expect(by(headers as Readonly<Record<string, string>>)).toBe('auth.invalid');
});

it('what is no key of ours proves nobody', async () => {
  const { key, record } = newKey({ subject: 'ann', groups: [] });
  const other = newKey({ subject: 'bob', groups: [] });
  await open(record);
  const changed = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`;
  const withOthersSecret = `omk_${record.id}_${other.key.slice(-43)}`;
  for (const wrong of [
    changed,
    withOthersSecret,
    other.key,
    record.hash,
    `omk_${record.id}_`,
    'omk_',
    key.toUpperCase(),
    'x.y.z',
    'secret',
  ])
    expect(ask(`Bearer ${wrong}`), wrong).toBe('auth.invalid');
  for (const wrong of [
    key,
    `Basic ${key}`,
    `DPoP ${key}`,
    'Bearer',
    `Bearer ${key} ${key}`,
    `Bearer ${key}, Bearer ${key}`,
    '',
  ])
    expect(ask(wrong), wrong).toBe('auth.invalid');
  expect(ask(undefined)).toBe('auth.required');
});

it('of two credentials none counts, and one in the address opens nothing', async () => {
  const { key, record } = newKey({ subject: 'ann', groups: [] });
  await open(record);
  expect(
    ask(`Bearer ${key}`, rootEndpoint, '/mcp', ['Authorization', `Bearer ${key}`, 'authorization', 'Bearer x']),
  ).toBe('auth.invalid');
  for (const name of ['access_token', 'token', 'api_key', 'ACCESS_TOKEN']) {
    expect(ask(undefined, rootEndpoint, `/mcp?${name}=${key}`)).toBe('auth.query');
    expect(ask(`Bearer ${key}`, rootEndpoint, `/mcp?a=b&${name}=${key}`)).toBe('auth.query');
  }
  const queries = [
    `key=${key}`,
    `a=1&q=Bearer%20${key}`,
    'x=eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2ln',
    'X-API-Key=one',
    'authorization=Bearer+one',
    key,
    `${key}=`,
    `a=1;key=${key}`,
    `q=%20${key}`,
    `q=%22${key}%22`,
    `q=Token+${key}`,
    'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2ln',
  ];
  for (const query of queries) expect(ask(`Bearer ${key}`, rootEndpoint, `/mcp?${query}`), query).toBe('auth.query');
  for (const query of ['sessionId=x', `sessionId=a${key}`, 'q=comk_1_2'])
    expect(ask(`Bearer ${key}`, rootEndpoint, `/messages?${query}`), query).toMatchObject({ subject: 'ann' });
});

it('a key opens the endpoints it was made for, and no other', async () => {
  const { key, record } = newKey({ subject: 'ann', groups: [], endpoints: ['github'] });
  await open(record);
  expect(ask(`Bearer ${key}`, 'github' as EndpointName)).toMatchObject({ subject: 'ann' });
  expect(ask(`Bearer ${key}`)).toBe('auth.endpoint');
  expect(ask(`Bearer ${key}`, 'files' as EndpointName)).toBe('auth.endpoint');
});

it('who uses a key at another endpoint is told for which it is', async () => {
  const many = Array.from({ length: 200 }, (_, index) => `server-${index}`);
  const [one, two, wide] = [
    newKey({ subject: 'ann', groups: [], endpoints: ['github'] }),
    newKey({ subject: 'ann', groups: [], endpoints: ['', 'files'] }),
    newKey({ subject: 'ann', groups: [], endpoints: many }),
  ];
  await open(one.record, two.record, wide.record);
  const said = (key: string, endpoint: string): string => {
    const headers = { authorization: `Bearer ${key}` };
    const verdict = (authenticator as Authenticator).authenticate(
      { headers, rawHeaders: Object.entries(headers).flat() },
      { url: '/mcp', endpoint: endpoint as EndpointName, peer: undefined, address: () => '' },
    ) as Verdict;
    return 'fault' in verdict ? verdict.fault.message : 'accepted';
  };
  expect(said(one.key, '')).toBe('this API key is for /mcp/github, and not for /mcp');
  expect(said(two.key, 'github')).toBe('this API key is for /mcp, /mcp/files, and not for /mcp/github');
  expect(said(wide.key, '').length).toBeLessThan(400);
});

it('a key that has expired proves nobody, and one that will says when', async () => {
  const past = newKey({ subject: 'ann', groups: [], expires: '2020-01-01' });
  const future = newKey({ subject: 'ann', groups: [], expires: '2999-01-01T00:00:00Z' });
  await open(past.record, future.record);
  expect(ask(`Bearer ${past.key}`)).toBe('auth.invalid');
  expect(ask(`Bearer ${future.key}`)).toMatchObject({ expiresAt: Date.parse('2999-01-01T00:00:00Z') });
});

it('the file is followed: a revoked key proves nobody from then on, and who has something open is asked again', async () => {
  const ann = newKey({ subject: 'ann', groups: [] });
  const bob = newKey({ subject: 'bob', groups: [] });
  const known = await open(ann.record, bob.record);
  const facts = ask(`Bearer ${ann.key}`) as Facts;
  const revoked = vi.fn();
  known.onRevoked(revoked);
  await write([{ ...ann.record, revoked: new Date().toISOString() }, bob.record]);
  await expect.poll(() => revoked).toHaveBeenCalled();
  expect(ask(`Bearer ${ann.key}`)).toBe('auth.invalid');
  expect([known.current(facts), known.current(ask(`Bearer ${bob.key}`) as Facts)?.subject]).toEqual([undefined, 'bob']);
});

it.each([
  ['tools', { tools: ['git/get'] }],
  ['endpoints', { endpoints: ['git'] }],
  ['expiry', { expires: '2020-01-01' }],
  ['expiry in future', { expires: '2199-01-01' }],
])(
  'a key with changed %s leaves nothing open on its former terms; with a note or other groups it does',
  async (_what, changes) => {
    const { key, record } = newKey({ subject: 'ann', groups: [] });
    const known = await open(record);
    const facts = ask(`Bearer ${key}`) as Facts;
    let changed = 0;
    known.onRevoked(() => {
      changed += 1;
    });
    await write([{ ...record, note: 'of ann', groups: ['other'] }]);
    await expect.poll(() => changed).toBe(1);
    expect(known.current(facts)?.groups).toEqual(['other']);
    await write([{ ...record, ...changes }]);
    await expect.poll(() => changed).toBe(2);
    expect(known.current(facts)).toBeUndefined();
  },
);

it('a file that is gone is said, and the keys from before stay', async () => {
  const { key, record } = newKey({ subject: 'ann', groups: [] });
  await open(record);
  await rm(file);
  await expect.poll(() => warnings.join()).toContain('is not there');
  expect(ask(`Bearer ${key}`)).toMatchObject({ subject: 'ann' });
  await write([]);
  await expect.poll(() => ask(`Bearer ${key}`)).toBe('auth.invalid');
});

it('a file that cannot be used is said, and the keys from before stay', async () => {
  const { key, record } = newKey({ subject: 'ann', groups: [] });
  await open(record);
  await writeFile(file, 'keys: [{ id: a }]\n');
  await expect.poll(() => warnings.join()).toContain('keys.0.hash');
  expect(ask(`Bearer ${key}`)).toMatchObject({ subject: 'ann' });
});

it('a file that is empty is being written, and the keys from before stay; one that says that there are none revokes all', async () => {
  const { key, record } = newKey({ subject: 'ann', groups: [] });
  await open(record);
  await writeFile(file, '');
  await expect.poll(() => warnings.join()).toContain('is empty');
  expect(ask(`Bearer ${key}`)).toMatchObject({ subject: 'ann' });
  await writeFile(file, 'keys:\n');
  await expect.poll(() => ask(`Bearer ${key}`)).toBe('auth.invalid');
});

it('what is said of a file that is no YAML repeats nothing of it', async () => {
  const { record } = newKey({ subject: 'ann', groups: [] });
  await open(record);
  await writeFile(file, formatKeys([record]).replace('hash: ', 'hash: "'));
  await expect.poll(() => warnings.join()).toContain('it is no YAML');
  expect(warnings.join()).not.toContain(record.hash);
  await expect(Authenticator.open({ ...none, keysFile: file, warn: () => undefined })).rejects.toThrow(
    /it is no YAML: line \d+, column \d+/,
  );
});

it('a file that is not there or says something else is refused at the start, in words', async () => {
  await expect(Authenticator.open({ ...none, keysFile: file, warn: () => undefined })).rejects.toThrow(
    'omnibus keys create',
  );
  await writeFile(
    file,
    formatKeys([newKey({ subject: 'a', groups: [] }).record].flatMap((record) => [record, record])),
  );
  await expect(Authenticator.open({ ...none, keysFile: file, warn: () => undefined })).rejects.toThrow(
    /there are two keys/,
  );
  const { record } = newKey({ subject: 'a', groups: [] });
  await writeFile(file, formatKeys([record, { ...record, id: 'other' }]));
  await expect(Authenticator.open({ ...none, keysFile: file, warn: () => undefined })).rejects.toThrow(
    /keys\.1\.hash: it is the hash of the key .* too/,
  );
});
