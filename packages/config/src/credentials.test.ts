/** The identity of calls of a server, by configuration. */
import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { accountOf } from './accounts.ts';
import { isSecretOption } from './secret-options.ts';
import { loadConfig, type ConfigSource } from './load.ts';
import type { ServerConfig } from './schema.ts';
import { loadOptions } from './testing/config-of.ts';

const issuer = 'https://issuer.example';

/** Problems of the configuration or its one server. */
function problemsOf(credentials: object, more: object = {}, settings: object = {}): string {
  const text = JSON.stringify({
    ...more,
    mcpServers: { a: { url: 'https://server.example/mcp', credentials, ...settings } },
  });
  const loaded = loadOptions(text, { file: 'f.json' });
  return ('problems' in loaded ? loaded.problems : loaded.faults).map(({ message }) => message).join('; ');
}

it.each([
  ['clientSecret', { kind: 'client', clientId: 'gateway', clientSecret: 's' }],
  ['clientSecret', { kind: 'oauth', clientId: 'gateway', clientSecret: 's' }],
  [
    'privateKey',
    {
      kind: 'client',
      clientId: 'gateway',
      privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        type: 'pkcs8',
        format: 'pem',
      }),
    },
  ],
  ['assertionFile', { kind: 'client', clientId: 'gateway', assertionFile: 'f' }],
])('a %s needs the issuer that it is for', (option, credentials) => {
  expect(problemsOf(credentials)).toContain(
    `\`${option}\` needs \`issuer\`, the one that it is for: without it, it is shown to whichever issuer the server names`,
  );
  expect(problemsOf({ ...credentials, issuer })).toBe('');
});

it('whoever has no secret needs no issuer', () => {
  expect(problemsOf({ kind: 'oauth' })).toBe('');
  expect(problemsOf({ kind: 'oauth', clientId: 'gateway' })).toBe('');
});

it.each([
  [{ listen: '0.0.0.0:7300' }],
  [{ publicUrl: 'https://mcp.example.com' }],
  [{ publicUrl: 'http://10.0.0.1:7300' }],
])('users are not told apart by a gateway that others reach: %j', (more) => {
  expect(problemsOf({ kind: 'oauth' }, { auth: 'none', ...more })).toContain(
    'let it be reached by programs of this machine alone',
  );
});

it.each([[{}], [{ listen: '[::1]:7300' }], [{ publicUrl: 'http://localhost:7300' }]])(
  'a gateway of one machine is for its one user: %j',
  (more) => {
    expect(problemsOf({ kind: 'oauth' }, more)).toBe('');
  },
);

it('a server that is called with credentials of each user has connections of each, and nothing else may be said of it', () => {
  const auth = { keys: { file: 'keys.yaml' } };
  expect(problemsOf({ kind: 'oauth' }, { auth })).toBe('');
  expect(problemsOf({ kind: 'oauth' }, { auth, listen: '0.0.0.0:7300' })).toContain('takes `publicUrl`');
  expect(problemsOf({ kind: 'oauth' }, { auth, listen: '0.0.0.0:7300', publicUrl: 'https://mcp.example.com' })).toBe(
    '',
  );
  expect(problemsOf({ kind: 'oauth' }, { auth }, { isolation: 'principal' })).toBe('');
  for (const isolation of ['shared', 'session'])
    expect(problemsOf({ kind: 'oauth' }, { auth }, { isolation })).toContain('each user has connections of his own');
});

const login = 'https://login.example.com';
const exchange = { kind: 'exchange', issuer: login, clientId: 'gateway', clientSecret: 's' };
const gateway = { publicUrl: 'https://mcp.example.com', auth: { issuers: [{ issuer: login }] } };

it('tokens of callers are exchanged where callers have tokens, of the issuers that are named for it', () => {
  expect(problemsOf(exchange, gateway)).toBe('');
  expect(problemsOf(exchange)).toContain('callers of this gateway have none');
  expect(problemsOf(exchange, { auth: { keys: { file: 'keys.yaml' } } })).toContain(
    'callers of this gateway have none',
  );
  expect(problemsOf({ ...exchange, issuer }, gateway)).toContain(
    `no caller is known by a token of the issuer whose tokens are exchanged for the server, "${issuer}"`,
  );
  expect(problemsOf({ ...exchange, issuer, from: [login] }, gateway)).toBe('');
  expect(problemsOf({ ...exchange, privateKey: 'k' }, gateway)).toContain('either `clientSecret` or `privateKey`');
  expect(problemsOf(exchange, gateway, { isolation: 'shared' })).toContain('each user has connections of his own');
});

it('assertions are made about users who sign in at an OpenID provider, or about the one user of a machine', () => {
  const enterprise = { kind: 'enterprise', clientId: 'gateway', clientSecret: 's', issuer };
  const signIn = { issuer: login, clientId: 'omnibus' };
  const signingIn = { publicUrl: 'https://mcp.example.com', auth: { server: { signIn } } };
  const ofFile = { ...enterprise, identityProvider: { issuer: login, clientId: 'omnibus', idTokenFile: 'id-token' } };
  expect(problemsOf(enterprise, signingIn)).toBe('');
  expect(problemsOf(enterprise, gateway)).toContain('set `auth.server.signIn`');
  expect(problemsOf(enterprise)).toContain('set `auth.server.signIn`');
  expect(problemsOf({ ...enterprise, issuer: undefined }, signingIn)).toContain('`clientSecret` needs `issuer`');
  expect(
    problemsOf({ ...enterprise, identityProvider: { ...signIn, issuer: 'https://other.example' } }, signingIn),
  ).toContain('is another one, or has another client');
  expect(problemsOf(ofFile)).toBe('');
  expect(problemsOf(ofFile, signingIn)).toContain('is that of one user');
});

it.each([
  ['wss://server.example/mcp', { caFile: 'ca.pem' }, ''],
  ['https://server.example/mcp', { certFile: 'a.pem', key: 'k' }, ''],
  ['https://server.example/mcp', { certFile: 'a.pem' }, 'a certificate is shown with its private key'],
  ['https://server.example/mcp', { key: 'k' }, 'a certificate is shown with its private key'],
  ['https://server.example/mcp', { ca: 'c', caFile: 'ca.pem' }, 'expected either `ca` or `caFile`'],
  ['http://server.example/mcp', { caFile: 'ca.pem' }, 'a `url` that begins with https:// or wss://'],
])('a server at %s with TLS by %j: "%s"', (url, tls, problem) => {
  const loaded = loadOptions({ mcpServers: { a: { url, tls } } }, { file: 'f.json' });
  expect(('problems' in loaded ? loaded.problems : loaded.faults).map(({ message }) => message).join('; ')).toContain(
    problem,
  );
  expect('config' in loaded).toBe(problem === '');
});

it('the key of a certificate is a secret, which only processes that connect to servers look up; one that cannot be had keeps its server down alone', () => {
  const text = JSON.stringify({
    mcpServers: {
      a: { url: 'https://server.example/mcp', tls: { certFile: 'a.pem', key: '${A_KEY}' } },
      b: { url: 'https://b.example/mcp' },
    },
  });
  const load = (env: Record<string, string>, more: object = {}): ReturnType<typeof loadConfig> =>
    loadConfig({ file: 'f.json', text, env, readFile: () => '', ...more });
  expect(load({ A_KEY: 'k' })).toMatchObject({ config: { mcpServers: { a: { tls: { key: 'k' } } } }, faults: [] });
  expect(load({}, { withoutServerSecrets: true })).toMatchObject({
    config: { mcpServers: { a: { tls: { certFile: 'a.pem', key: '' } } } },
    faults: [],
  });
  expect(load({})).toMatchObject({
    config: { mcpServers: { a: { problem: expect.stringContaining('A_KEY is not set') as string } } },
  });
  expect(isSecretOption(['mcpServers', 'a', 'tls', 'key'])).toBe(true);
});

it('an account is said in words for people', () => {
  const accountFor = (settings: object, more: object = {}): string | undefined => {
    const loaded = loadOptions(
      { ...more, mcpServers: { a: { url: 'https://server.example/mcp', ...settings } } },
      { file: 'f.json' },
    );
    return 'config' in loaded
      ? accountOf(loaded.config.mcpServers['a'] as ServerConfig, loaded.config)
      : JSON.stringify(loaded);
  };
  expect(accountFor({})).toBeUndefined();
  expect(accountFor({ headers: { 'X-Key': 'k' } })).toBe('one for everybody: `headers`');
  expect(accountFor({ tls: { certFile: 'a.pem', keyFile: 'a.key' } })).toBe("the gateway's: the certificate of `tls`");
  expect(accountFor({ credentials: { kind: 'client', clientId: 'gateway', clientSecret: 's', issuer } })).toBe(
    `the gateway's: client gateway of ${issuer}`,
  );
  expect(accountFor({ credentials: { kind: 'oauth' } })).toBe(
    'yours: by a sign-in at the issuer that the server names',
  );
  expect(accountFor({ credentials: { kind: 'oauth' } }, gateway)).toBe(
    "each user's: by a sign-in at the issuer that the server names",
  );
  expect(accountFor({ credentials: exchange }, gateway)).toBe(`each user's: by exchange of his token at ${login}`);
});

it('only an edge is given the secrets by which tokens of callers are exchanged, and only it has no others', () => {
  const text = JSON.stringify({
    ...gateway,
    mcpServers: {
      made: { url: 'https://a.example/mcp', credentials: exchange },
      own: {
        url: 'https://b.example/mcp',
        credentials: { kind: 'client', clientId: 'gateway', clientSecret: 'c', issuer },
      },
    },
  });
  const secretsOf = (
    role: Pick<ConfigSource, 'withoutServerSecrets' | 'withoutExchangeSecrets'>,
  ): readonly unknown[] => {
    const loaded = loadConfig({ file: 'f.json', text, env: {}, readFile: () => '', ...role });
    return 'config' in loaded
      ? Object.values(loaded.config.mcpServers).map(
          ({ credentials }) => (credentials as { readonly clientSecret?: string }).clientSecret,
        )
      : [loaded];
  };
  expect(secretsOf({})).toEqual(['s', 'c']);
  expect(secretsOf({ withoutServerSecrets: true })).toEqual(['s', '']);
  expect(secretsOf({ withoutExchangeSecrets: true })).toEqual(['', 'c']);
});

it.each([
  ['{principal.subject}', {}, 'nothing tells the callers of this gateway apart'],
  ['{principal.email}', { auth: { keys: { file: 'keys.yaml' } } }, 'is no fact about a caller'],
  ['{principal.claims.email}', { auth: { keys: { file: 'keys.yaml' } } }, 'is passed on by no issuer'],
  [
    '{principal.claims.email}',
    { publicUrl: 'https://mcp.example.com', auth: { issuers: [{ issuer, claims: ['email'] }] } },
    '',
  ],
])('a header with %s, where the gateway has %j: "%s"', (header, more, problem) => {
  const said = problemsIn({ 'X-User': header }, more, {});
  expect(problem === '' ? said : said.includes(problem)).toBe(problem === '' ? '' : true);
});

it('a server that is told who calls has connections of each caller, and a process that calls no server knows that too', () => {
  const more = { auth: { keys: { file: 'keys.yaml' } } };
  expect(problemsIn({ 'X-User': '{principal.subject}' }, more, { isolation: 'shared' })).toContain(
    '`isolation: principal`',
  );
  const text = JSON.stringify({
    ...more,
    mcpServers: {
      a: {
        url: 'https://server.example/mcp',
        headers: { 'X-User': 'key ${KEY} of {principal.subject}', Authorization: 'Bearer ${KEY}' },
      },
    },
  });
  const loaded = loadConfig({ file: 'f.json', text, env: {}, readFile: () => '', withoutServerSecrets: true });
  expect('config' in loaded ? loaded.config.mcpServers['a']?.headers : loaded).toEqual({
    'X-User': '{principal.subject}',
  });
});

function problemsIn(headers: object, more: object, settings: object): string {
  const text = JSON.stringify({
    ...more,
    mcpServers: { a: { url: 'https://server.example/mcp', headers, ...settings } },
  });
  const loaded = loadOptions(text, { file: 'f.json' });
  return ('problems' in loaded ? loaded.problems : loaded.faults).map(({ message }) => message).join('; ');
}

it('a secret that cannot be had, or cannot be one, keeps its server down alone', () => {
  const load = (credentials: object, headers: object = {}): ReturnType<typeof loadConfig> =>
    loadConfig({
      file: 'f.json',
      env: { EMPTY: '', TWO: 'one\ntwo' },
      readFile: () => '\n',
      text: JSON.stringify({
        mcpServers: {
          a: {
            url: 'https://server.example/mcp',
            headers,
            ...(Object.keys(headers).length === 0 ? { credentials } : {}),
          },
          b: { url: 'https://b.example/mcp' },
        },
      }),
    });
  for (const [secret, problem] of [
    [{ clientSecret: '${NOWHERE}' }, 'credentials.clientSecret: the environment variable NOWHERE is not set'],
    [{ clientSecret: '${EMPTY}' }, 'credentials.clientSecret: it is empty'],
    [{ clientSecret: '' }, 'credentials.clientSecret: it is empty'],
    [{ clientSecret: '${file:f}' }, 'credentials.clientSecret: it is empty'],
    [{ privateKey: 'no key' }, 'credentials.privateKey: this is no private key'],
    [{ privateKey: '${NOWHERE}' }, 'credentials.privateKey: the environment variable NOWHERE is not set'],
  ] as const) {
    const loaded = load({ kind: 'client', clientId: 'gateway', issuer, ...secret });
    expect(loaded).toMatchObject({
      config: { mcpServers: { a: { problem: expect.stringContaining(problem) as string } } },
    });
    expect(loaded).not.toHaveProperty('config.mcpServers.b.problem');
  }
  for (const [value, problem] of [
    ['Bearer ${TWO}', 'headers.X-A: a header has one line'],
    ['\u{4e16}', 'headers.X-A: a header has characters of Latin-1 alone'],
  ] as const) {
    const loaded = load({}, { 'X-A': value });
    expect(loaded).toMatchObject({
      config: { mcpServers: { a: { problem: expect.stringContaining(problem) as string } } },
    });
    expect(JSON.stringify('faults' in loaded ? loaded.faults : loaded)).not.toContain('one\\ntwo');
  }
});

it.each<readonly [object, string]>([
  [{ kind: 'oauth', clientSecret: 's', issuer }, '`clientSecret` is the secret of a client that is registered already'],
  ...['https://issuer.example?a', 'https://issuer.example#a', 'issuer.example', 'http://issuer.example'].map(
    (wrong) =>
      [
        { kind: 'oauth', issuer: wrong },
        `expected an https:// address, or one of this machine, without query or fragment, got ${JSON.stringify(wrong)}`,
      ] as const,
  ),
  [{ kind: 'oauth', issuer: 'https://issuer.example/.well-known/openid-configuration' }, 'expected the issuer itself'],
  ...['https://issuer.example', 'localhost:8080', 'a/b', ''].map(
    (host) => [{ kind: 'oauth', allowedHosts: [host] }, 'expected a host, such as'] as const,
  ),
])('%j is refused in words, once', (credentials, problem) => {
  const said = problemsOf(credentials);
  expect(said).toContain(problem);
  expect(said).not.toContain('; ');
});

it.each([
  [{ kind: 'oauth', clientId: 'gateway', issuer, clientSecret: 's', clientAuthentication: 'client_secret_post' }, ''],
  [
    { kind: 'oauth', clientId: 'gateway', issuer, clientAuthentication: 'client_secret_post' },
    '`clientAuthentication` says how `clientSecret` is shown, and there is none',
  ],
  [
    {
      kind: 'oauth',
      clientId: 'gateway',
      issuer,
      privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
        type: 'pkcs8',
        format: 'pem',
      }),
    },
    '',
  ],
])('a client authenticates as it is registered: %#', (credentials, problem) => {
  expect(problemsOf(credentials)).toBe(problem);
});

it.each([['localhost'], ['[::1]'], ['10.0.0.1'], ['login.example.com']])('the host %s may be allowed', (host) => {
  expect(problemsOf({ kind: 'oauth', allowedHosts: [host] })).toBe('');
});

it.each([['Content-Length'], ['transfer-encoding'], ['Connection']])(
  'the header %s is made for each message, and not from the configuration',
  (header) => {
    expect(problemsOf({ kind: 'oauth' }, {}, { headers: { [header]: 'x' } })).toBe(
      'the gateway makes this header itself, for each connection or message: leave it out',
    );
  },
);

it('a header is there once, whatever its case', () => {
  expect(problemsOf({ kind: 'oauth' }, {}, { headers: { 'x-a': '1', 'X-A': '2' } })).toBe(
    'this is the same header as "x-a", and only one of them would be sent',
  );
});

it('two keys of the vault have two names', () => {
  expect(problemsOf({ kind: 'oauth' }, { vault: { keys: [`a:${'A'.repeat(43)}=`, `a:${'B'.repeat(43)}=`] } })).toBe(
    'two keys have the same name',
  );
});

it.each([['a:short'], ['no name'], [`:${'A'.repeat(43)}=`]])(
  'the key %s of the vault is refused without being shown',
  (key) => {
    expect(problemsOf({ kind: 'oauth' }, { vault: { keys: [key] } })).toBe(
      'expected NAME:BASE64 of 32 random bytes (openssl rand -base64 32)',
    );
  },
);
