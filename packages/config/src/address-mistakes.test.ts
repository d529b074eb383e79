import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';

const saidOf = (text: string): readonly string[] => {
  const loaded = loadConfig({ file: 'f.yaml', text, env: {}, readFile: () => '' });
  return 'problems' in loaded ? loaded.problems.map(({ path, message }) => `${path}: ${message}`) : [];
};

it.each([
  [
    '{ url: "http://localhost:PORT/mcp" }',
    'url: "PORT" is no port: write a number up to 65535, or leave out ":PORT", got "http://localhost:PORT/mcp"',
  ],
  [
    '{ url: "https://x.example:99999" }',
    'url: "99999" is no port: write a number up to 65535, or leave out ":99999", got "https://x.example:99999"',
  ],
  [
    '{ url: "https://me:hun/ter2@x.example/mcp" }',
    'url: expected an http://, https://, ws:// or wss:// address whose password has no "/", "?" or "#": write %2F, %3F or %23 for these, got "https://...@x.example/mcp"',
  ],
  [
    '{ type: websocket, url: "http://x.example/mcp" }',
    'type: type "websocket" does not go with this "url": leave out "type", or write a ws:// or wss:// address, got "websocket"',
  ],
  [
    '{ type: http, url: "wss://x.example/mcp" }',
    'type: type "http" does not go with this "url": leave out "type", or write an http:// or https:// address, got "http"',
  ],
])('a server %s is answered with the smallest right form', (server, said) => {
  expect(saidOf(`mcpServers: { a: ${server} }`)).toEqual([`mcpServers.a.${said}`]);
});

it('a list of servers as the whole file is answered with where they belong', () => {
  expect(saidOf('[{ name: a }]')).toEqual([
    ': expected a map, and this is a list: write the servers under mcpServers, with the name of each in front of its options',
  ]);
});
