import { loadConfig, type Config } from '@omnibus/config';
import { expect, it } from 'vitest';
import { missingPrograms } from './programs.ts';

it.each([
  ['{ command: ./server.js, args: [--port, "1"] }', 'write command: node and args: ["./server.js","--port","1"]'],
  ['{ command: server.py }', 'write command: python3 and args: ["server.py"]'],
  ['{ command: not-there-at-all }', 'install it, or write its whole path'],
  ['{ command: ndoe }', 'did you mean "node"?'],
])('a server %s, whose program is not there, is answered with the right form', (server, form) => {
  const loaded = loadConfig({ file: 'f.yaml', text: `mcpServers: { a: ${server} }`, env: {}, readFile: () => '' });
  const { config } = loaded as { readonly config: Config };
  expect(missingPrograms(config, '/nowhere').map(({ problem }) => problem)).toEqual([expect.stringContaining(form)]);
});
