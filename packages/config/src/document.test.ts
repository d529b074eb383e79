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
    ['2:16: "*…" without quotes refers to a part of this file that has no such name: put it in quotes'],
  ],
  [
    'an exclusion without quotes, which would exclude nothing',
    'profiles:\n  p: { tools: [!files/drop] }\n',
    ['2:16: "!…" without quotes is a tag of YAML and no text: put it in quotes'],
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
    'an option that is indented further than the one above it',
    'mcpServers:\n  a:\n    command: npx\n     args: [-y, x]\n',
    [
      '3:14: the next line, "args:", is indented further than "command:", so it is read as a part of its text: give it 4 blanks in front',
    ],
  ],
  [
    'an option of an entry of a list that is indented further than the one above it',
    'composites:\n  c:\n    steps:\n      - id: a\n          call: x/y\n',
    [
      '4:13: the next line, "call:", is indented further than "id:", so it is read as a part of its text: give it 8 blanks in front',
    ],
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

/** Mistakes that people make in the structure of a file, by the words that name each. */
const mistakes: readonly (readonly [name: string, text: string, words: string])[] = [
  ['a line that is indented less', 'a:\n  b: 1\n c: 2\n', 'the line is not indented as far as'],
  ['a text in the middle of a list', 'a:\n  - x\n  y: 1\n', 'the line is not indented as far as'],
  ['an entry of a list that continues too far left', '- a: 1\n b: 2\n', 'the line is not indented as far as'],
  ['a name that begins with a percent sign', '%foo: 1\na: 1\n', 'a line that begins with "%" is an instruction'],
  ['two anchors', 'a: &x &y z\n', 'a text with "&", "*" or "!" in front of it'],
  ['two tags', 'a: !x !y z\n', 'a text with "&", "*" or "!" in front of it'],
  ['a name for a reference', 'a: &x 1\nb: &y *x\n', 'a text with "&", "*" or "!" in front of it'],
  ['a tag without a blank', 'a: !<x>y\n', 'a text with "&", "*" or "!" in front of it'],
  ['a text behind a bar', 'a: |x\n  b\n', 'behind "|" or ">" the text begins on the next line'],
  ['a text behind a greater-than sign', 'a: > text here\n', 'behind "|" or ">" the text begins on the next line'],
  ['two commas', '{"a": 1,, "b": 2}', 'a "," stands here with nothing in front of it'],
  ['a brace too many', '{"a": 1}}', 'this "}" closes nothing'],
  ['a bracket too many', 'a: [x]]\n', 'this "]" closes nothing'],
  ['a word behind the end', '{"a": 1} x', 'this stands behind the end of a text, list or map'],
  ['an apostrophe in single quotes', "a: 'it's'\n", 'this stands behind the end of a text, list or map'],
  ['two texts in front of a colon', '"a" "b": 1\n', 'this stands behind the end of a text, list or map'],
  ['a comment without a blank', 'a: "x"#c\n', 'a comment needs a blank'],
  ['dashes inside braces', '{\n  a:\n    - x\n}\n', 'inside braces and brackets'],
  ['a second colon in JSON', '{"a": "b": 1}', 'inside braces and brackets'],
  ['an equals sign in JSON', '{"a"= 1}', 'a ":" between a name and its value'],
  ['no comma in a list of JSON', '{"a": ["x" "y"]}', 'a "," is missing'],
  ['two maps', '{"a":1}{"b":2}', 'something begins here that does not belong'],
  ['an option behind the dashes', '--- a: 1\n', 'the line has "---" in front of its option'],
  ['a name without end', `${'x'.repeat(1_100)}: 1\n`, 'the name of an option has more than 1024 characters'],
  ['<< with a text', 'a:\n  <<: x\n', '"<<" puts the options of another map here'],
];

/** The parsers' own words. */
const foreign =
  /Invalid TOML|Unexpected|Implicit|implicit|Missing|token|scalar|flow|[Bb]lock (collection|scalar|header)|Plain|Sequence item|mapping items|must be|directive|node|Merge sources/;

it.each(mistakes)('%s: is explained in words of the gateway, and none of the parser', (_name, text, words) => {
  const read = readDocument(text, 'f.yaml');
  const messages = 'faults' in read ? read.faults.map(({ message }) => message) : ['no fault'];
  expect(messages.join('\n')).toContain(words);
  expect(messages.join('\n')).not.toMatch(foreign);
});

it.each([
  ['a = \n', 'expected a value'],
  ['a = x\n', 'expected a value'],
  ['a: 1\n', 'expected [NAME] or NAME = VALUE'],
  ['[a\nb = 1\n', 'expected [NAME] or NAME = VALUE'],
  ['a = 1\na = 2\n', 'this name is there already'],
  ['[a]\n[a]\n', 'this name is there already'],
  ['a = [1 2]\n', 'a "," is missing in front of this'],
  ['a = [1\n', 'a "," is missing in front of this'],
  ['a = "x\n', 'a text is not closed'],
  ['a = "C:\\tmp\\q"\n', 'in double quotes a backslash begins an escape'],
])('a mistake in TOML, %j: is explained in words of the gateway, and none of the parser', (text, words) => {
  const read = readDocument(text, 'f.toml');
  const messages = 'faults' in read ? read.faults.map(({ message }) => message) : ['no fault'];
  expect(messages).toEqual([expect.stringContaining(`not TOML: ${words}`)]);
  expect(messages.join('\n')).not.toMatch(foreign);
});
