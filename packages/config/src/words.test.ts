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
  ['mcpServers: {}\nlimits: { maxResultBytes: 5 }', 'write it under a server, or under one of its `tools`'],
  [
    'mcpServers: { a: { command: x, env: [{ name: A, value: secret }] } }',
    'env: expected a map: write a map: { A: "…" }',
  ],
  [
    'mcpServers: { a: { url: "http://x/mcp", headers: [{ Authorization: b }] } }',
    'headers: expected a map: write a map: { Authorization: "…" }',
  ],
  ['mcpServers: { a: { url: 3000 } }', 'ws:// or wss:// address: write "http://127.0.0.1:3000/mcp", got 3000'],
  ['mcpServers: { a: { url: "https://h /mcp" } }', 'address without blanks'],
  ['mcpServers:\n  a:\n    command:npx', 'write a blank behind the colon: "command: npx"'],
  ['mcpServers\n  a:\n    command: npx', 'write the ":" at the end of the line that has options below it'],
  ['mcpServers:\n  a:\n    command: npx\n    args: -y\n    foo', 'it has no ": ": write NAME: VALUE'],
  ['mcpServers:\n  a: { command: “npx” }', 'typographic quotation marks, which are a part of the text: write "npx"'],
  [
    'mcpServers:\n  a: { command: x, env: { A: “secret” } }',
    'typographic quotation marks, which are a part of the text: write "…"',
  ],
  ['```yaml\nmcpServers: {}\n```', 'the fence of Markdown is no part of the file'],
  ['{ "mcpServers": { "a": { "command": "x" } "b": { "command": "y" } } }', 'a "," is missing in front of this'],
  ['{ "mcpServers": {} }\n{ "mcpServers": {} }', 'a file has one map in braces'],
  ['mcpServers: { a: { command: x, timeout: 1min } }', ': write "1m", got "1min"'],
  ['mcpServers: { a: { command: x, timeout: "1,5 Seconds" } }', ': write "1.5s"'],
  ['listen: 127.0.0.1:7300/mcp', 'write "127.0.0.1:7300"; the path of clients is /mcp'],
  ['listen: "*:7300"', 'write "0.0.0.0:7300" for all addresses'],
  ['listen: "::1:7300"', 'write "[::1]:7300"'],
  ['listen: http://127.0.0.1:7305', 'without http:// and path: write "127.0.0.1:7305"'],
  ['bus: nats', 'write "nats://127.0.0.1:4222"'],
  ['bus: broker:4222', 'write "nats://broker:4222"'],
  ['bus: { url: "nats://ann:secret@h:4222" }', 'write "nats://...@h:4222", and what else belongs to it under `nats`'],
  ['log: debug', 'log: expected a map: write { level: debug }'],
  ['port: 8080', 'port: unknown option; write listen: "127.0.0.1:8080"'],
  ['host: 0.0.0.0\nport: "8080"', 'host: unknown option; write listen: "0.0.0.0:8080"'],
  ['host: "::1"', 'host: unknown option; write listen: "[::1]:7300"'],
  ['host: "*"\nport: 8080', 'port: unknown option; write listen: "127.0.0.1:8080"'],
  ['port: secret', 'port: unknown option; write listen: "127.0.0.1:7300"'],
  ['rules: []', 'rules: unknown option; write access: { rules: [...] }'],
  ['access: { rules: [{ allow: ["a/*"] }] }', 'access.rules[0].who: expected a text, and it is missing'],
  ['admin: { host: 0.0.0.0 }', 'write "0.0.0.0:7301"'],
  ['listen: { host: "::1" }', 'write "[::1]:7300"'],
  ['listen: { host: localhost, port: "8080" }', 'write "localhost:8080"'],
  ['discovery: { kubernetes: false }', 'discovery.kubernetes: expected a map: leave it out, got false'],
  ['mcpServers: { a: { url: "https://h/mcp", proxy: false } }', 'expected "none": write "none"'],
  [
    'access: { rules: [{ who: everyone, allow: [a/x], ask: false }] }',
    'access.rules[0].ask: expected a text: leave it out, got false',
  ],
  ['listing: false', ': write "full", got false'],
  ['tls: true', 'tls: expected a map: write { certFile: cert.pem, keyFile: key.pem }'],
  [
    'audit: { sinks: { kind: file, folder: a } }',
    'write its "- " in front of the first option of each entry: - kind: …',
  ],
  ['audit: { file: audit.log }', 'audit.file: unknown option; write sinks: [{ kind: file, folder: audit }]'],
  [
    'mcpServers: { a: { url: "https://h/mcp", credentials: oauth } }',
    'credentials: expected a map: write { kind: oauth }',
  ],
  [
    'mcpServers: { a: { url: "https://h/mcp", credentials: { kind: oauth2 } } }',
    'or "aws": write "oauth", got "oauth2"',
  ],
  ['mcpServers: { a: { url: "https://h/mcp", apiKey: secret } }', 'write headers: { Authorization: "Bearer ${NAME}" }'],
  ['mcpServers: { a: { url: "https://h/mcp", args: [x] } }', 'args: has no effect'],
  ['mcpServers: { a: { command: x, sandbox: strict } }', 'sandbox: expected a map: write {}'],
  ['mcpServers: { a: { command: x, restart: always } }', 'restart: expected a map: write { maxDelay: 30s }'],
  ['mcpServers: { a: { command: x, tools: [read] } }', 'tools: expected a map: write includeTools: ["read"]'],
  ['mcpServers: { a: { type: streamable_http, url: "https://h/mcp" } }', 'or "ws": write "streamable-http"'],
  ['mcpServers: { a: true }', 'write "command" (a program to start) or "url"'],
  ['mcpServers: { a: { command: x } }\nprofiles: { p: a }', 'profiles.p: expected a map: write { servers: ["a"] }'],
  ['mcpServers: { a: { command: x } }\nprofiles: { p: { tools: [a.read] } }', 'such as "a/read"'],
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

it.each([
  'mcpServers: { a: { command: x } }\nprofiles: { p: { tools: [{ name: read_file }] } }',
  'listen: { address: "0.0.0.0:8080" }',
  'listen: { host: h, port: { a: 1 } }',
])('%s has no corrected line, since that would be a guess', (text) => {
  const [line = ''] = said(text);
  expect(line).toContain('expected');
  expect(line).not.toContain('write');
});
