/** On whose behalf a server may be called, as a configuration says it. */
import { expect, it } from 'vitest';
import { accountOf } from './accounts.ts';
import { isSecretOption } from './secret-options.ts';
import { loadConfig, type ConfigSource } from './load.ts';
import type { ServerConfig } from './schema.ts';

const issuer = 'https://issuer.example';

/** What is wrong with the configuration or its one server. */
function problemsOf(credentials: object, more: object = {}, settings: object = {}): string {
  const text = JSON.stringify({ ...more, mcpServers: { a: { url: 'https://server.example/mcp', credentials, ...settings } } });
  const loaded = loadConfig({ file: 'f.json', text, env: {}, readFile: () => '' });
  return ('problems' in loaded ? loaded.problems : loaded.faults).map(({ message }) => message).join('; ');
}

it.each([
  ['clientSecret', { kind: 'client', clientId: 'gateway', clientSecret: 's' }],
  ['clientSecret', { kind: 'oauth', clientId: 'gateway', clientSecret: 's' }],
  ['privateKey', { kind: 'client', clientId: 'gateway', privateKey: 'k' }],
  ['assertionFile', { kind: 'client', clientId: 'gateway', assertionFile: 'f' }],
])('a %s needs the issuer that it is for', (option, credentials) => {
  expect(problemsOf(credentials)).toContain(`\`${option}\` needs \`issuer\`, the one that it is for: without it, it is shown to whichever issuer the server names`);
  expect(problemsOf({ ...credentials, issuer })).toBe('');
});

it('whoever has no secret needs no issuer', () => {
  expect(problemsOf({ kind: 'oauth' })).toBe('');
  expect(problemsOf({ kind: 'oauth', clientId: 'gateway' })).toBe('');
});

it.each([
  [{ listen: '0.0.0.0:7300' }], [{ publicUrl: 'https://mcp.example.com' }], [{ publicUrl: 'http://10.0.0.1:7300' }],
])('users are not told apart by a gateway that others reach: %j', (more) => {
  expect(problemsOf({ kind: 'oauth' }, { auth: 'none', ...more })).toContain('let it be reached by programs of this machine alone');
});

it.each([[{}], [{ listen: '[::1]:7300' }], [{ publicUrl: 'http://localhost:7300' }]])('a gateway of one machine is for its one user: %j', (more) => {
  expect(problemsOf({ kind: 'oauth' }, more)).toBe('');
});

it('a server that is called with credentials of each user has connections of each, and nothing else may be said of it', () => {
  const auth = { keys: { file: 'keys.yaml' } };
  expect(problemsOf({ kind: 'oauth' }, { auth })).toBe('');
  expect(problemsOf({ kind: 'oauth' }, { auth, listen: '0.0.0.0:7300' })).toContain('takes `publicUrl`');
  expect(problemsOf({ kind: 'oauth' }, { auth, listen: '0.0.0.0:7300', publicUrl: 'https://mcp.example.com' })).toBe('');
  expect(problemsOf({ kind: 'oauth' }, { auth }, { isolation: 'principal' })).toBe('');
  for (const isolation of ['shared', 'session']) expect(problemsOf({ kind: 'oauth' }, { auth }, { isolation })).toContain('each user has connections of his own');
});

const login = 'https://login.example.com';
const exchange = { kind: 'exchange', issuer: login, clientId: 'gateway', clientSecret: 's' };
const gateway = { publicUrl: 'https://mcp.example.com', auth: { issuers: [{ issuer: login }] } };

it('tokens of callers are exchanged where callers have tokens, of the issuers that are named for it', () => {
  expect(problemsOf(exchange, gateway)).toBe('');
  expect(problemsOf(exchange)).toContain('callers of this gateway have none');
  expect(problemsOf(exchange, { auth: { keys: { file: 'keys.yaml' } } })).toContain('callers of this gateway have none');
  expect(problemsOf({ ...exchange, issuer }, gateway)).toContain(`tokens of ${issuer} are to be exchanged for the server, and no caller is known by one`);
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
  expect(problemsOf({ ...enterprise, identityProvider: { ...signIn, issuer: 'https://other.example' } }, signingIn)).toContain('is another one, or has another client');
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
  const loaded = loadConfig({ file: 'f.json', text: JSON.stringify({ mcpServers: { a: { url, tls } } }), env: {}, readFile: () => '' });
  expect(('problems' in loaded ? loaded.problems : loaded.faults).map(({ message }) => message).join('; ')).toContain(problem);
  expect('config' in loaded).toBe(problem === '');
});

it('the key of a certificate is a secret, which only processes that connect to servers look up; one that cannot be had keeps its server down alone', () => {
  const text = JSON.stringify({ mcpServers: { a: { url: 'https://server.example/mcp', tls: { certFile: 'a.pem', key: '${A_KEY}' } }, b: { url: 'https://b.example/mcp' } } });
  const load = (env: Record<string, string>, more: object = {}): ReturnType<typeof loadConfig> => loadConfig({ file: 'f.json', text, env, readFile: () => '', ...more });
  expect(load({ A_KEY: 'k' })).toMatchObject({ config: { mcpServers: { a: { tls: { key: 'k' } } } }, faults: [] });
  expect(load({}, { withoutServerSecrets: true })).toMatchObject({ config: { mcpServers: { a: { tls: { certFile: 'a.pem', key: '' } } } }, faults: [] });
  expect(load({})).toMatchObject({ config: { mcpServers: { a: { problem: expect.stringContaining('A_KEY is not set') as string } } } });
  expect(isSecretOption(['mcpServers', 'a', 'tls', 'key'])).toBe(true);
});

it('an account is said in words for people', () => {
  const accountFor = (settings: object, more: object = {}): string | undefined => {
    const loaded = loadConfig({ file: 'f.json', text: JSON.stringify({ ...more, mcpServers: { a: { url: 'https://server.example/mcp', ...settings } } }), env: {}, readFile: () => '' });
    return 'config' in loaded ? accountOf(loaded.config.mcpServers['a'] as ServerConfig, loaded.config) : JSON.stringify(loaded);
  };
  expect(accountFor({})).toBeUndefined();
  expect(accountFor({ headers: { 'X-Key': 'k' } })).toBe('one for everybody: `headers`');
  expect(accountFor({ tls: { certFile: 'a.pem', keyFile: 'a.key' } })).toBe('the gateway\'s: the certificate of `tls`');
  expect(accountFor({ credentials: { kind: 'client', clientId: 'gateway', clientSecret: 's', issuer } })).toBe(`the gateway's: client gateway of ${issuer}`);
  expect(accountFor({ credentials: { kind: 'oauth' } })).toBe('yours: by a sign-in at the issuer that the server names');
  expect(accountFor({ credentials: { kind: 'oauth' } }, gateway)).toBe('each user\'s: by a sign-in at the issuer that the server names');
  expect(accountFor({ credentials: exchange }, gateway)).toBe(`each user's: by exchange of his token at ${login}`);
});

it('only an edge is given the secrets by which tokens of callers are exchanged, and only it has no others', () => {
  const text = JSON.stringify({ ...gateway, mcpServers: { made: { url: 'https://a.example/mcp', credentials: exchange }, own: { url: 'https://b.example/mcp', credentials: { kind: 'client', clientId: 'gateway', clientSecret: 'c', issuer } } } });
  const secretsOf = (role: Pick<ConfigSource, 'withoutServerSecrets' | 'withoutExchangeSecrets'>): readonly unknown[] => {
    const loaded = loadConfig({ file: 'f.json', text, env: {}, readFile: () => '', ...role });
    return 'config' in loaded ? Object.values(loaded.config.mcpServers).map(({ credentials }) => (credentials as { readonly clientSecret?: string }).clientSecret) : [loaded];
  };
  expect(secretsOf({})).toEqual(['s', 'c']);
  expect(secretsOf({ withoutServerSecrets: true })).toEqual(['s', '']);
  expect(secretsOf({ withoutExchangeSecrets: true })).toEqual(['', 'c']);
});

it.each([
  ['{principal.subject}', {}, 'nothing tells the callers of this gateway apart'],
  ['{principal.email}', { auth: { keys: { file: 'keys.yaml' } } }, 'is no fact about a caller'],
  ['{principal.claims.email}', { auth: { keys: { file: 'keys.yaml' } } }, 'is passed on by no issuer'],
  ['{principal.claims.email}', { publicUrl: 'https://mcp.example.com', auth: { issuers: [{ issuer, claims: ['email'] }] } }, ''],
])('a header with %s, where the gateway has %j: "%s"', (header, more, problem) => {
  const said = problemsIn({ 'X-User': header }, more, {});
  expect(problem === '' ? said : said.includes(problem)).toBe(problem === '' ? '' : true);
});

it('a server that is told who calls has connections of each caller, and a process that calls no server knows that too', () => {
  const more = { auth: { keys: { file: 'keys.yaml' } } };
  expect(problemsIn({ 'X-User': '{principal.subject}' }, more, { isolation: 'shared' })).toContain('`isolation: principal`');
  const text = JSON.stringify({ ...more, mcpServers: { a: { url: 'https://server.example/mcp', headers: { 'X-User': 'key ${KEY} of {principal.subject}', 'Authorization': 'Bearer ${KEY}' } } } });
  const loaded = loadConfig({ file: 'f.json', text, env: {}, readFile: () => '', withoutServerSecrets: true });
  expect('config' in loaded ? loaded.config.mcpServers['a']?.headers : loaded).toEqual({ 'X-User': '{principal.subject}' });
});

function problemsIn(headers: object, more: object, settings: object): string {
  const text = JSON.stringify({ ...more, mcpServers: { a: { url: 'https://server.example/mcp', headers, ...settings } } });
  const loaded = loadConfig({ file: 'f.json', text, env: {}, readFile: () => '' });
  return ('problems' in loaded ? loaded.problems : loaded.faults).map(({ message }) => message).join('; ');
}
