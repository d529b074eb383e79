import { expect, it } from 'vitest';
import { shellWords } from '@omnibus/protocol/shell-words';
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

it.each([
  ['node x.js --path="/a b"/c', ['node', 'x.js', '--path=/a b/c']],
  [`node -e 'print("a b")'`, ['node', '-e', 'print("a b")']],
  ["node it's", ['node', "it's"]],
  ['node ""', ['node', '']],
])('the words of %j are those that a shell reads, and a quote that does not end stays', (line, words) => {
  expect(shellWords(line)).toEqual(words);
});

it('an address is one in capitals too, and of any scheme, which omnibus add then judges', () => {
  expect(addCommand({ name: 'one', what: 'HTTPS://example.com/mcp' })).toBe('omnibus add one HTTPS://example.com/mcp');
  expect(addLines({ name: 'one', what: 'ftp://example.com' })).toContain('url: "ftp://example.com"');
});
