import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { commandFor, curlFor, shellWord } from './copies.ts';

const words = (command: string): unknown => JSON.parse(execFileSync('sh', ['-c', `node -e 'console.log(JSON.stringify(process.argv.slice(1)))' ${command}`], { encoding: 'utf8' }));

it('a copied word is one word for a shell, whatever characters it has', () => {
  for (const text of ['plain', 'two words', "it's", '$(touch x) `id` "$HOME"', '\\', '-n', 'a\nb', '*?[]{}~#!&|;<>']) expect(words(`-- ${shellWord(text)}`)).toEqual([text]);
});

it('a copied command has the arguments as they were written, and no secret', () => {
  const args = '{\n  "q": "it\'s $HOME",\n  "big": 12345678901234567890\n}';
  expect(words(`-- ${commandFor({ name: 'shop__order', args, endpoint: 'lamps' }).replace('omnibus call ', '')}`)).toEqual(['--endpoint', 'lamps', 'shop__order', '--args', '{ "q": "it\'s $HOME", "big": 12345678901234567890 }']);
  expect(commandFor({ name: 'stock', args: '{}', endpoint: '' })).toBe('omnibus call stock');
  const curl = words(`-- ${curlFor({ name: 'ö x', args, endpoint: '' }, 'http://127.0.0.1:7300/mcp').replace('curl ', '')}`) as readonly string[];
  expect(curl).toContain('mcp-name: =?base64?w7YgeA==?=');
  expect(curl.at(-1)).toContain('"big": 12345678901234567890');
  expect(curl.join(' ')).not.toContain('authorization');
});
