/** On whose behalf a server may be called, as a configuration says it. */
import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';

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
