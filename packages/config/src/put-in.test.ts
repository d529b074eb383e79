/** What references stand for is in no message: every known mistake again, with each of its texts behind a reference. */
import { expect, it } from 'vitest';
import { parseDocument, visit } from 'yaml';
import { loadConfig } from './load.ts';
import { formatProblem } from './problem.ts';
import { configJsonSchema } from './schema.ts';
import { withoutValues } from './put-in.ts';
import { mistakes } from './testing/mistakes.ts';

/** Words that stand in messages by themselves. */
const words = JSON.stringify(configJsonSchema());

function behindReferences(text: string): { readonly text: string; readonly env: Readonly<Record<string, string>> } {
  const [document, env] = [parseDocument(text), {} as Record<string, string>];
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string' || node.value.includes('$')) return;
      const name = `V${Object.keys(env).length}`;
      env[name] = node.value;
      node.value = `\${${name}}`;
      node.type = 'QUOTE_DOUBLE';
    },
  });
  return { text: document.toString(), env };
}

const rows = mistakes.flatMap(([what, mistake]) => {
  if (parseDocument(mistake).errors.length > 0 || /\*\w/.test(mistake)) return [];
  const { text, env } = behindReferences(mistake);
  const values = Object.values(env).filter(
    (value) => value.length >= 4 && !words.includes(value) && !text.includes(value),
  );
  return values.length === 0 ? [] : [[what, text, env, values] as const];
});

it.each(rows)('%s: no line has the value of a reference', (_what, text, env, values) => {
  const loaded = loadConfig({
    file: 'f.yaml',
    text,
    env,
    readFile(path) {
      throw new Error(`there is no file ${path}`);
    },
  });
  const said = 'problems' in loaded ? loaded.problems : [...loaded.faults, ...loaded.notes];
  const lines = said.map(formatProblem);
  expect(lines.filter((line) => values.some((value) => line.includes(value)))).toEqual([]);
});

it.each([
  ['others can reach 0.0.0.0:7300, and "auth" is not there', 'others can reach ${X}, and "auth" is not there'],
  ['there is no server "0.0.0.0:7300" under mcpServers', 'there is no server "${X}" under mcpServers'],
  ['expected an address: write "http://0.0.0.0:7300"', 'expected an address'],
  ['"7300" is no port', 'expected another value'],
  ['expected a name, for example "x_0_7300"', 'expected a name'],
  ['0.0.0.0:7300/mcp is no address', 'expected another value'],
  ['expected a word, such as "auth"', 'expected a word, such as "auth"'],
])('the message %j shows the words of the file in place of a value', (message, told) => {
  expect(withoutValues(message, '0.0.0.0:7300', '${X}')).toBe(told);
  expect(withoutValues(message, '0.0.0.0:7300', '0.0.0.0:7300')).toBe(message);
});

it('a message about a list has none of its values, and what is found after loading neither', () => {
  expect(withoutValues('no caller is of "hunter2"', { a: ['x', 'hunter2'] }, { a: ['x', '${X}'] })).toBe(
    'no caller is of "${X}"',
  );
  const text = 'listen: "${X}"\n';
  const loaded = loadConfig({ file: 'f.yaml', text, env: { X: '0.0.0.0:7300' }, readFile: () => '' });
  if ('problems' in loaded) throw new Error('it is right');
  expect(loaded.problemAt(['listen'], 'others reach 0.0.0.0:7300').message).toBe('others reach ${X}');
  expect(loaded.problemAt(['listen'], '').message).toBe('');
});
