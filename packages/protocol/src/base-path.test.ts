import { expect, it } from 'vitest';
import { basePathOf, pathBelow } from './base-path.ts';

it('a path is that of the gateway without the path below which it stands, and documents about addresses have it inserted', () => {
  expect(['https://x.example', 'https://x.example/team', 'https://x.example/a/b', undefined].map(basePathOf)).toEqual([
    '',
    '/team',
    '/a/b',
    '',
  ]);
  const known = '/.well-known/oauth-protected-resource';
  for (const [path, inside] of [
    ['/team/mcp', '/mcp'],
    ['/team/mcp/a?x=/team', '/mcp/a?x=/team'],
    ['/team', '/'],
    ['/team?x', '/?x'],
    ['/team/', '/'],
    ['/teams/mcp', undefined],
    ['/mcp', undefined],
    ['/', undefined],
    ['*', undefined],
    [`${known}/team/mcp/a`, `${known}/mcp/a`],
    [`${known}/team`, known],
    [`${known}/team?x`, `${known}?x`],
    [`${known}/teams`, undefined],
    [known, undefined],
    [`/team${known}/mcp`, `${known}/mcp`],
    ['/team/.well-known/jwks.json', '/.well-known/jwks.json'],
    ['/.well-known/jwks.json', undefined],
  ] as const)
    expect(pathBelow(path, '/team'), path).toBe(inside);
});
