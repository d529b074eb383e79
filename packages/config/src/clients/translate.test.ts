/** Entries that a program writes in words of its own. */
import { expect, it } from 'vitest';
import { readClientFile } from './read.ts';

const read = (file: string, content: object): ReturnType<typeof readClientFile> =>
  readClientFile(file, JSON.stringify(content), process.cwd());

it("opencode's servers below mcp.servers are opencode's, and not those of VS Code", () => {
  const a = { type: 'local', command: ['a', 'x'], timeout: 5_000 };
  for (const mcp of [{ a }, { servers: { a } }, { servers: a }]) {
    const { client, servers } = read('opencode.json', { mcp });
    expect(client.id).toBe('opencode');
    expect(Object.values(servers)).toEqual([{ type: 'stdio', command: 'a', args: ['x'], timeout: '5000ms' }]);
  }
});

it('the bearer token of MetaMCP is sent as a header, and a server that is not active is off', () => {
  const { servers, remarks } = read('some.json', {
    mcpServers: {
      a: { type: 'STREAMABLE_HTTP', url: 'https://a.test/mcp', bearerToken: 't', status: 'ACTIVE' },
      b: { type: 'SSE', url: 'https://b.test/sse', bearerToken: '', headers: { 'X-A': '1' }, status: 'INACTIVE' },
    },
  });
  expect(servers).toEqual({
    a: { type: 'http', url: 'https://a.test/mcp', headers: { Authorization: 'Bearer t' } },
    b: { type: 'sse', url: 'https://b.test/sse', headers: { 'X-A': '1' }, disabled: true },
  });
  expect(remarks).toEqual([]);
});

it('two entries of mcp-remote for one address that ask for tokens of different resources stay two programs', () => {
  const bridge = (resource: string): object => ({
    command: 'npx',
    args: ['mcp-remote', 'https://tickets.test/mcp', '--resource', resource],
  });
  const given = { one: bridge('https://one.test/'), two: bridge('https://two.test/') };
  const { servers, remarks } = read('some.json', { mcpServers: given });
  expect(servers).toEqual(given);
  expect(remarks.map(({ text }) => text)).toEqual([
    expect.stringContaining('it stays a program (mcp-remote): --resource'),
    expect.stringContaining('it stays a program (mcp-remote): --resource'),
  ]);
});

it('a server of VS Code with a variable of its editor is left out, and the others are not', () => {
  const good = { command: 'node', args: ['a.js'] };
  const { servers, remarks } = read('mcp.json', {
    servers: { good, bad: { command: 'node', args: ['${file}', '${cwd}'] } },
  });
  expect(servers).toEqual({ good });
  expect(remarks.map(({ text }) => text)).toEqual([
    expect.stringContaining('${file} is a variable of VS Code'),
    expect.stringContaining('${cwd} is a variable of VS Code'),
    expect.stringContaining('left out'),
  ]);
});

it('a word for a kind of authentication and a map are no tokens', () => {
  for (const option of [
    ...['none', 'bearer', 'Basic', 'apiKey', 'api-key', 'oauth2'].map((auth) => ({ auth })),
    { auth_token: {} },
    { bearerToken: ['t'] },
  ]) {
    const { servers, remarks } = read('some.json', { mcpServers: { a: { url: 'https://a.test/mcp', ...option } } });
    expect(servers).toEqual({ a: { url: 'https://a.test/mcp' } });
    expect(remarks.map(({ text }) => text)).toEqual([expect.stringContaining('under `headers`')]);
  }
});
