import { expect, it } from 'vitest';
import type { Config } from '@omnibus/config';
import { connectWays } from './connect-ways.ts';

const configOf = (more: object = {}): Config =>
  ({ mcpServers: { shop: {}, off: { disabled: true } }, profiles: { reading: {} }, ...more }) as unknown as Config;
const waysOf = (endpoint = '', more: object = {}, listens?: string) =>
  connectWays({ config: configOf(more), listens, endpoint, program: ['/usr/bin/node', '/opt/omnibus.js'] });
const clientOf = (id: string, ...asked: Parameters<typeof waysOf>) =>
  waysOf(...asked)?.clients.find((client) => client.id === id);

it('each client has the text of its own file, a command, and an address where it has registered one', () => {
  const here = 'http://127.0.0.1:7300/mcp';
  expect(clientOf('cursor', 'reading', {}, here)).toMatchObject({
    text: expect.stringContaining('"url": "http://127.0.0.1:7300/mcp/reading"'),
    command: ['omnibus', 'connect', 'cursor', '--url', 'http://127.0.0.1:7300/mcp/reading'],
    link: expect.stringMatching(/^cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install\?name=omnibus&config=/),
    files: { linux: '~/.cursor/mcp.json', win32: String.raw`%USERPROFILE%\.cursor\mcp.json` },
  });
  expect(clientOf('codex', '', {}, here)?.text).toContain('[mcp_servers.omnibus]');
  expect(clientOf('goose', '', {}, here)?.text).toMatch(/^extensions:/);
  expect(clientOf('claude-desktop', '', {}, here)?.text).toContain('"/opt/omnibus.js"');
  expect(decodeURIComponent(clientOf('vscode', '', {}, here)?.link ?? '')).toBe(
    'vscode:mcp/install?{"name":"omnibus","type":"http","url":"http://127.0.0.1:7300/mcp"}',
  );
});

it('where clients need a key, its place is marked; an address of all interfaces and a public address are what clients can reach', () => {
  const auth = { keys: { file: 'keys.yaml' }, issuers: [] };
  expect(waysOf('', { auth }, 'http://0.0.0.0:7300/mcp')).toMatchObject({
    url: 'http://HOST:7300/mcp',
    needsKey: true,
  });
  expect(clientOf('cursor', '', { auth })?.text).toContain('Bearer KEY');
  expect(waysOf('shop', { publicUrl: 'https://mcp.example/team' })?.url).toBe('https://mcp.example/team/mcp/shop');
  expect(waysOf('', {})?.endpoints.map(({ path }) => path)).toEqual(['/mcp', '/mcp/shop', '/mcp/reading']);
  expect(waysOf('off')).toBeUndefined();
});
