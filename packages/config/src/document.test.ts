/** Mistakes in the layout of a file, and the words that say how to mend them: no parser's words for people that know YAML. */
import { expect, it } from 'vitest';
import { readDocument } from './document.ts';

it.each<readonly [string, string, readonly string[]]>([
  [
    'texts that need quotes in YAML',
    'mcpServers:\n  a: { command: npx, args: [-y, @acme/x] }\n',
    ['2:33: a text that begins with "@" needs quotes'],
  ],
  [
    'a star alone',
    'profiles: { p: { tools: [*] } }\n',
    ['1:26: "*" without quotes refers to a part of this file: put it in quotes'],
  ],
  [
    'a glob that begins with a star',
    'profiles:\n  p: { tools: [*/read] }\n',
    ['2:16: "*/read" without quotes refers to a part of this file, and there is no "&/read": put it in quotes'],
  ],
  [
    'an exclusion without quotes, which would exclude nothing',
    'profiles:\n  p: { tools: [!files/drop] }\n',
    ['2:16: "!files/drop" without quotes is a tag of YAML and no text: put it in quotes'],
  ],
  [
    'two documents',
    'mcpServers: {}\n---\nmcpServers: {}\n',
    [
      '2:1: "---" begins a second document, and a configuration is one: remove the line, or write each into a file of its own',
    ],
  ],
  [
    'a second colon',
    'mcpServers:\n  a:\n    url: http://x/mcp\n    headers:\n      Authorization: Basic abc: def\n',
    ['5:22: the text has ": " in it, which begins another option: put the text in quotes'],
  ],
  [
    'a brace that is not closed',
    '{ "mcpServers": { "a": { "command": "x" } }',
    ['1:44: not JSON: a "{" before this place is not closed: write its "}"'],
  ],
  [
    'a bracket that is not closed',
    'mcpServers:\n  a: { command: x, args: [y }\n',
    ['2:29: not YAML or JSON: a "[" before this place is not closed: write its "]"'],
  ],
  [
    'a quote that is not closed',
    'mcpServers: { a: { command: "x } }\n',
    ['2:1: not YAML or JSON: a text that begins with " before this place has no " at its end'],
  ],
])('%s: says what, where and how to mend it', (_what, text, lines) => {
  const read = readDocument(text, 'f.yaml');
  expect(
    'faults' in read ? read.faults.map(({ line, column, message }) => `${line}:${column}: ${message}`) : [],
  ).toEqual(lines);
});

it('parts that are put together with << are one map', () => {
  const read = readDocument(
    'mcpServers:\n  a: &a { command: x, timeout: 5s }\n  b:\n    <<: *a\n    args: [y]\n',
    'f.yaml',
  );
  expect(read).toMatchObject({ value: { mcpServers: { b: { command: 'x', timeout: '5s', args: ['y'] } } } });
});
