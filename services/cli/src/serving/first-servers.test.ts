import { expect, it } from 'vitest';
import { nameFor } from './first-servers.ts';

it.each([
  [['npx', '-y', '@modelcontextprotocol/server-files@1.2', '/home'], 'files'],
  [['uvx', 'mcp-server-git'], 'git'],
  [['node', '/srv/one/weather.mjs'], 'weather'],
  [['./run.sh'], 'run'],
  [['https://mcp.example.com/mcp'], 'example'],
  [['npx', '-y', '@scope/ä ö'], '---'],
  [['…'], '-'],
])('the server %j is offered the name %j', (words, name) => {
  expect(nameFor(words)).toBe(name);
});
