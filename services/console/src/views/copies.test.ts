import { execFileSync, spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { commandFor, curlFor, shellWord } from './copies.ts';

/** The shells of this machine, into any of which a command may be pasted. */
const shells = ['sh', 'bash', 'zsh'].filter((shell) => spawnSync(shell, ['-c', 'true']).status === 0);
const words = (command: string, env: NodeJS.ProcessEnv = {}, shell = 'sh'): unknown =>
  JSON.parse(
    execFileSync(shell, ['-c', `node -e 'console.log(JSON.stringify(process.argv.slice(1)))' ${command}`], {
      encoding: 'utf8',
      env: { ...process.env, OMNIBUS_TOKEN: '', ...env },
    }),
  );

it('a copied word is one word for a shell, whatever characters it has', () => {
  for (const text of [
    'plain',
    'two words',
    "it's",
    '$(touch x) `id` "$HOME"',
    '\\',
    '-n',
    'a\nb',
    '*?[]{}~#!&|;<>',
    '=ls',
    '~',
  ])
    for (const shell of shells) expect(words(`-- ${shellWord(text)}`, {}, shell)).toEqual([text]);
});

it('a copied curl sends the token of whoever pastes it, in every shell', () => {
  const curl = curlFor({ name: 'x', args: '{}', endpoint: '' }, 'http://127.0.0.1:7300/mcp').replace('curl ', '');
  for (const shell of shells)
    expect((words(`-- ${curl}`, { OMNIBUS_TOKEN: 'a b' }, shell) as readonly string[]).slice(-4, -2)).toEqual([
      '-H',
      'authorization: Bearer a b',
    ]);
  for (const shell of shells)
    expect((words(`-- ${curl}`, {}, shell) as readonly string[]).slice(-3, -1)).toEqual(['mcp-name: x', '--data-raw']);
});

it('a copied command has the arguments as they were written, and no secret', () => {
  const args = '{\n  "q": "it\'s $HOME",\n  "big": 12345678901234567890\n}';
  expect(
    words(`-- ${commandFor({ name: 'shop__order', args, endpoint: 'lamps' }).replace('omnibus call ', '')}`),
  ).toEqual(['--endpoint', 'lamps', 'shop__order', '--args', '{ "q": "it\'s $HOME", "big": 12345678901234567890 }']);
  expect(commandFor({ name: 'stock', args: '{}', endpoint: '' })).toBe('omnibus call stock');
  expect(commandFor({ name: '-x', args: '{"a":1}', endpoint: '' })).toBe(`omnibus call --args '{"a":1}' -- -x`);
  const curl = words(
    `-- ${curlFor({ name: 'ö x', args, endpoint: '' }, 'http://127.0.0.1:7300/mcp').replace('curl ', '')}`,
  ) as readonly string[];
  expect(curl).toContain('mcp-name: =?base64?w7YgeA==?=');
  expect(curl.at(-1)).toContain('"big": 12345678901234567890');
  expect(curl.join(' ')).not.toContain('authorization');
});
