/** The smallest right form of what people write in another one. */
import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';
import { formatProblem } from './problem.ts';

function said(text: string): readonly string[] {
  const loaded = loadConfig({ file: 'f.yaml', text, env: {}, readFile: () => '' });
  return ('problems' in loaded ? loaded.problems : loaded.notes).map((each) =>
    formatProblem(each).replace(/^f\.yaml:\d+:\d+: /, ''),
  );
}

it.each<readonly [string, string]>([
  ['mcpServers: { a: npx -y foo }', 'mcpServers.a: expected a map: write { command: npx, args: ["-y","foo"] }'],
  [
    'mcpServers: { a: { command: [npx, -y] } }',
    'mcpServers.a.command: expected a text: write command: npx and args: ["-y"]',
  ],
  [
    'mcpServers: { a: { command: x, env: [KEY=secret] } }',
    'mcpServers.a.env: expected a map: write a map: { KEY: "…" }',
  ],
  [
    'mcpServers: { a: { url: "http://x/mcp", headers: ["A: b"] } }',
    'mcpServers.a.headers: expected a map: write a map: { A: "…" }',
  ],
  ['auth: { keys: keys.yaml }', 'auth.keys: expected a map: write { file: keys.yaml }'],
  ['tls: { certFile: c.pem, key: k.pem, keyFile: k.pem }', 'tls.key: unknown option; write keyFile'],
  ['tracing: true', 'tracing: expected a map: write { endpoint: "http://127.0.0.1:4318" }'],
  ['audit: true', 'audit: expected a map: write where records go'],
  ['logLevel: debug', 'logLevel: unknown option; write log: { level: info }'],
  ['a: { command: npx }', 'a: unknown option; a server belongs under mcpServers'],
  [
    'mcpServers: { files: { command: x } }\nprofiles: { p: [files] }',
    'profiles.p: expected a map: write { servers: ["files"] }',
  ],
  [
    'mcpServers: { __proto__: { command: x } }',
    'mcpServers.__proto__: this name has a meaning of its own in JavaScript',
  ],
])('%s is answered with the form that is right', (text, words) => {
  expect(said(text).join('\n')).toContain(words);
  expect(said(text).join('\n')).not.toContain('secret');
});

it.each<readonly [string, string]>([
  ['url: "https://x.test/mcp?access_token=abc"', 'mcpServers.a.url: has a secret in it'],
  ['url: "https://me:pass@x.test/mcp"', 'mcpServers.a.url: has a secret in it'],
  ['command: x\n    args: [--token, ghp_abcdefghijklmnop1234]', 'mcpServers.a.args[1]: has a secret in it'],
  ['command: x\n    env: { K: "<YOUR_TOKEN>" }', 'mcpServers.a.env.K: has a place for a value'],
  ['command: x\n    env: { K: "%TOKEN%" }', 'mcpServers.a.env.K: has a place for a value'],
  ['url: "http://x/mcp"\n    headers: { K: "{{TOKEN}}" }', 'mcpServers.a.headers.K: has a place for a value'],
])('a secret, or the place of one, is noticed: %s', (options, words) => {
  const [note = '', ...others] = said(`mcpServers:\n  a:\n    ${options}\n`);
  expect(note).toContain(words);
  expect(others).toEqual([]);
  expect(note).not.toMatch(/abc|pass@/);
});

it('references and ordinary texts are no secrets', () => {
  expect(
    said(
      'mcpServers:\n  a: { url: "https://x.test/mcp?key=${KEY}", headers: { A: "Bearer ${file:t}", B: "plain" } }\n  b: { command: x, args: [--tokens, 5, "<file>"] }\n'.replace(
        '5',
        '"5"',
      ),
    ).filter((each) => each.includes('has a')),
  ).toEqual([]);
});
