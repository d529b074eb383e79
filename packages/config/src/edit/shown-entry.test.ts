import { expect, it } from 'vitest';
import { editedEntry, hideSecrets, secretsIn, shownEntry } from './shown-entry.ts';

const entry = {
  url: 'https://ann:hunter22@host.example/mcp?api_key=abcd1234',
  headers: { Authorization: 'Bearer verysecret', 'X-From': '${FROM}' },
};
const program = {
  command: 'npx',
  args: ['-y', 'pkg', '--token', 'tok_1234567890', '--verbose'],
  env: { A: 'private value' },
};
const given = { mcpServers: { a: entry, b: program } };
const secrets = secretsIn(given);

it('an entry is shown without the secrets that stand in it, and references stay', () => {
  const shown = `${shownEntry(entry, 'a', secrets)}${shownEntry(program, 'b', secrets)}`;
  for (const secret of ['hunter22', 'abcd1234', 'verysecret', 'tok_1234567890', 'private value'])
    expect(shown).not.toContain(secret);
  expect(shown).toContain('X-From: ${FROM}');
  expect(shown).toContain('--verbose');
});

it('an entry that is edited keeps what stays hidden', () => {
  const text = shownEntry(entry, 'a', secrets).replace('X-From: ${FROM}', 'X-From: me');
  expect(editedEntry(text, entry, 'a', secrets)).toEqual({
    ...entry,
    headers: { Authorization: 'Bearer verysecret', 'X-From': 'me' },
  });
  expect(editedEntry(shownEntry(program, 'b', secrets), program, 'b', secrets)).toEqual(program);
});

it('a hidden value in another place is refused by the name of its option, and so is what is no map', () => {
  expect(() => editedEntry('headers: { Cookie: ••• }', entry, 'a', secrets)).toThrow('headers.Cookie: •••');
  expect(() => editedEntry('- a', entry, 'a', secrets)).toThrow('expected options');
  expect(() => editedEntry('a: [', entry, 'a', secrets)).toThrow('the options are no YAML');
  expect(() => editedEntry('', undefined, 'a', secrets)).toThrow('expected options');
});

it('what only looks like an address hides nothing, and a secret is hidden however its line is written', () => {
  expect(secretsIn({ roles: ['key:root', 'group:ops'], listen: 'localhost:1' })).toEqual(new Set());
  const quoted = {
    mcpServers: { a: { url: 'https://a.example', headers: { Authorization: 'Bearer a"verylongsecret' } } },
  };
  const hidden = secretsIn(quoted);
  expect(hideSecrets(JSON.stringify(quoted), hidden)).not.toContain('verylongsecret');
  expect(hideSecrets('Authorization: Bearer\n  a"verylongsecret', hidden)).toBe('Authorization: Bearer\n  •••');
});

it('of two secrets the longer is hidden whole', () => {
  expect(hideSecrets('a longsecret and long', new Set(['long', 'longsecret']))).toBe('a ••• and •••');
});

it('a short secret that is also a word of other options is hidden in its own place alone', () => {
  const server = {
    url: 'https://host.example/mcp',
    type: 'http',
    headers: { 'X-Kind': 'http', mail: 'mail', 'X-Count': '30000', 'X-On': 'true' },
    timeout: 30_000,
    readOnly: true,
  };
  const hidden = secretsIn({ mcpServers: { c: server } });
  const shown = shownEntry(server, 'c', hidden);
  expect(shown).toBe(
    'url: https://host.example/mcp\ntype: http\nheaders:\n  X-Kind: •••\n  mail: •••\n  X-Count: •••\n  X-On: •••\ntimeout: 30000\nreadOnly: true\n',
  );
  expect(editedEntry(shown.replace('/mcp', '/other'), server, 'c', hidden)).toEqual({
    ...server,
    url: 'https://host.example/other',
  });
});

it('a secret in an address is hidden as it is written there, with its escapes', () => {
  const server = { url: 'https://host.example/mcp?team=a&token=c2VjcmV0c2VjcmV0%3D%3D' };
  expect(shownEntry(server, 'd', secretsIn({ mcpServers: { d: server } }))).toBe(
    'url: https://host.example/mcp?team=a&token=•••\n',
  );
});

it('a hidden secret goes to no other host: a person who changes the address must write it again', () => {
  const before = { url: 'https://host.example/mcp', headers: { Authorization: 'Bearer s3cret-s3cret' } };
  const secrets = secretsIn({ mcpServers: { one: before } });
  const shown = shownEntry(before, 'one', secrets);
  const edit = (from: string, to: string): object => editedEntry(shown.replace(from, to), before, 'one', secrets);
  expect(edit('/mcp', '/other')).toMatchObject({ url: 'https://host.example/other', headers: before.headers });
  expect(() => edit('host.example', 'thief.example')).toThrow(/https:\/\/thief.example would get them/);
  expect(editedEntry('url: https://thief.example', before, 'one', secrets)).toEqual({ url: 'https://thief.example' });
});
