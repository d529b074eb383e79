import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';
import { isSecretOption } from './secret-options.ts';

const load = (entry: object): ReturnType<typeof loadConfig> =>
  loadConfig({ file: 'f', text: JSON.stringify({ mcpServers: { a: entry } }), env: {}, readFile: () => '' });
const problemsOf = (entry: object): readonly string[] => {
  const loaded = load(entry);
  return 'problems' in loaded ? loaded.problems.map(({ path, message }) => `${path}: ${message}`) : [];
};

it('a document alone is enough', () => {
  const loaded = load({ openapi: './a.yaml' });
  expect('config' in loaded ? loaded.config.mcpServers['a']?.openapi : loaded).toEqual({
    document: './a.yaml',
    security: {},
    outputSchemas: true,
  });
});

it.each([
  [{ openapi: 'a', command: 'x' }, 'mcpServers.a.command: a server with "openapi" is an API that runs already'],
  [{ openapi: 'a', type: 'http', url: 'http://h' }, 'mcpServers.a.type: type is the transport of an MCP server'],
  [{ openapi: 'a', url: 'ws://h' }, 'mcpServers.a.url: the address of an API begins with http:// or https://'],
  [{ openapi: 'https://h/a', headers: { 'x-key': 'k' } }, 'mcpServers.a: set "url" to the address of the API'],
  [
    { openapi: { document: 'https://h/a', security: { k: 'secret' } } },
    'mcpServers.a: set "url" to the address of the API',
  ],
  [{ openapi: { documents: 'a' } }, 'mcpServers.a.openapi'],
  [
    { openapi: 'a', credentials: { kind: 'oauth' } },
    'mcpServers.a.credentials: credentials are shown to a server at a `url`',
  ],
])('%j is refused', (entry, problem) => {
  expect(problemsOf(entry).join('\n')).toContain(problem);
});

it('secrets of security schemes are secret', () => {
  expect(isSecretOption(['mcpServers', 'a', 'openapi', 'security', 'key'])).toBe(true);
  expect(isSecretOption(['mcpServers', 'a', 'openapi', 'document'])).toBe(false);
});
