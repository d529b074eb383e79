import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';
import { formatProblem } from './problem.ts';
import { migrateConfig } from './migrate.ts';

const yaml = `# ours
servers: # all of them
  docs:   # the company's
    serverUrl: "https://docs.example.com/mcp" # do not lose this
    enabled: false
  files: { type: "local", command: npx, 'environment': { A: "1" } }
listen: 127.0.0.1:7300
`;

it('changes the words and nothing else: comments, order and layout stay', () => {
  const { text, outdated } = migrateConfig(yaml);
  expect(text).toBe(`# ours
mcpServers: # all of them
  docs:   # the company's
    url: "https://docs.example.com/mcp" # do not lose this
    disabled: true
  files: { type: "stdio", command: npx, 'env': { A: "1" } }
listen: 127.0.0.1:7300
`);
  expect(outdated.map(({ line, path }) => `${line} ${path.join('.')}`)).toEqual([
    '2 servers',
    '4 mcpServers.docs.serverUrl',
    '5 mcpServers.docs.enabled',
    '6 mcpServers.files.environment',
    '6 mcpServers.files.type',
  ]);
  expect(migrateConfig(text)).toEqual({ text, outdated: [] });
});

it('does the same to JSON', () => {
  expect(migrateConfig('{"servers":{"a":{"httpUrl":"http://127.0.0.1:1/mcp","enabled":true}}}').text).toBe(
    '{"mcpServers":{"a":{"url":"http://127.0.0.1:1/mcp","disabled":false}}}',
  );
});

it('leaves alone what nobody can decide, what is as it should be, and what cannot be read', () => {
  for (const text of [
    'mcpServers: { a: { url: "http://a/", serverUrl: "http://b/" } }',
    'mcpServers: { servers: { command: x } }',
    'mcpServers: { a: { url: "http://a/", enabled: "${ON}" } }',
    'servers: [',
    '',
    'just text',
  ])
    expect(migrateConfig(text)).toEqual({ text, outdated: [] });
});

it('an outdated configuration is refused with the one line to change, and with whatever else is wrong', () => {
  const result = loadConfig({ file: 'omnibus.yaml', text: `${yaml}lisen: x\n`, env: {}, readFile: () => '' });
  expect('problems' in result && result.problems.map(formatProblem)).toEqual([
    'omnibus.yaml:2:1: servers: write mcpServers (as written for VS Code: servers); `omnibus migrate omnibus.yaml --write` does it',
    'omnibus.yaml:4:5: mcpServers.docs.serverUrl: write url (as written for Windsurf: serverUrl); `omnibus migrate omnibus.yaml --write` does it',
    'omnibus.yaml:5:5: mcpServers.docs.enabled: write disabled: true (as written for other gateways: enabled: false); `omnibus migrate omnibus.yaml --write` does it',
    'omnibus.yaml:6:12: mcpServers.files.type: write type: stdio (as written for other gateways: type: local); `omnibus migrate omnibus.yaml --write` does it',
    'omnibus.yaml:6:41: mcpServers.files.environment: write env (as written for other gateways: environment); `omnibus migrate omnibus.yaml --write` does it',
    'omnibus.yaml:8:1: lisen: unknown option; did you mean "listen"?',
  ]);
  expect(
    'config' in loadConfig({ file: 'omnibus.yaml', text: migrateConfig(yaml).text, env: {}, readFile: () => '' }),
  ).toBe(true);
});
