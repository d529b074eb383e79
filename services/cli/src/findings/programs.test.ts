import { loadConfig, type LoadedConfig } from '@omnibus/config';
import { expect, it } from 'vitest';
import { missingPrograms } from './programs.ts';

it.each([
  ['{ command: ./server.js, args: [--port, "1"] }', 'write command: node and args: ["./server.js","--port","1"]'],
  ['{ command: server.py }', 'write command: python3 and args: ["server.py"]'],
  ['{ command: not-there-at-all }', 'install it, or write its whole path'],
  ['{ command: ndoe }', 'did you mean "node"?'],
])('a server %s, whose program is not there, is answered with the right form', (server, form) => {
  const loaded = loadConfig({ file: 'f.yaml', text: `mcpServers: { a: ${server} }`, env: {}, readFile: () => '' });
  expect(missingPrograms(loaded as LoadedConfig, '/nowhere').map(({ problem }) => problem)).toEqual([
    expect.stringContaining(form),
  ]);
});

it.each([
  ['{ command: ./server.js, args: [--at, "${KEY}"] }', 'args: ["./server.js","--at","${KEY}"]'],
  ['{ command: ./server.js, args: [--api-key, "${KEY}"] }', 'args: ["./server.js","--api-key","..."]'],
  ['{ command: "${KEY}" }', 'there is no program "${KEY}" on the PATH'],
  ['{ command: node, cwd: "${KEY}" }', 'it starts in the folder "${KEY}"'],
])('a server %s is shown in the words of the file', (server, form) => {
  const [KEY, text] = ['hunter2', `mcpServers: { a: ${server} }`];
  const loaded = loadConfig({ file: 'f.yaml', text, env: { KEY }, readFile: () => '' }) as LoadedConfig;
  const problems = missingPrograms(loaded, '/nowhere').map(({ problem }) => problem);
  expect(problems).toEqual([expect.stringContaining(form)]);
  expect(problems.join()).not.toContain(KEY);
});
