import { expect, it } from 'vitest';
import { addCommand, addLines } from './add-words.ts';

it('a program is one word for each word of the shell, with quotes where they are needed', () => {
  const server = { name: 'files', what: `npx -y "@scope/files" '/home/a b'` };
  expect(addCommand(server)).toBe(`omnibus add files -- npx -y @scope/files '/home/a b'`);
  expect(addLines(server)).toBe(
    'mcpServers:\n  files:\n    command: "npx"\n    args: ["-y","@scope/files","/home/a b"]\n',
  );
});

it('an address is added as one, and what a shell would run is quoted', () => {
  const server = { name: 'wiki', what: ' https://wiki.example/mcp?a=1&b=$(id) ' };
  expect(addCommand(server)).toBe(`omnibus add wiki 'https://wiki.example/mcp?a=1&b=$(id)'`);
  expect(addLines(server)).toBe('mcpServers:\n  wiki:\n    url: "https://wiki.example/mcp?a=1&b=$(id)"\n');
});
