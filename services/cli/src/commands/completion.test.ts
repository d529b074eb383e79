import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { createProgram } from '../command-line/program.ts';
import { commandTable } from '../command-line/command-table.ts';
import { scriptFor } from './completion.ts';

const table = commandTable(createProgram(() => Promise.reject(new Error('no command runs here'))));
const lineOf = (words: readonly string[]): string =>
  `COMP_WORDS=(${['omnibus', ...words].map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; COMPREPLY=(); _omnibus; printf '%s ' "\${COMPREPLY[@]}"; printf '\\n'`;

function completed(all: readonly (readonly string[])[]): string[][] {
  const output = execFileSync('bash', ['-c', `${scriptFor('bash', table)}\n${all.map(lineOf).join('\n')}`], {
    encoding: 'utf8',
    cwd: '/',
  });
  return output
    .split('\n')
    .slice(0, all.length)
    .map((line) => line.split(' ').filter((word) => word !== ''));
}

it('bash completes every option of every command, and the values of those that have some', () => {
  const options = table.flatMap((row) =>
    row.options.flatMap(({ long, choices }) => (long === undefined ? [] : [{ row, long, choices }])),
  );
  const flags = completed(options.map(({ row, long }) => [...row.words, long.slice(0, -1)]));
  for (const [index, { row, long }] of options.entries()) expect(flags[index], row.words.join(' ')).toContain(long);
  const closed = options.filter(({ choices }) => choices.length > 0);
  expect(completed(closed.map(({ row, long }) => [...row.words, long, '']))).toEqual(
    closed.map(({ choices }) => choices),
  );
});

it('bash completes the options of the command that is meant where none is named', () => {
  expect(
    completed([
      ['calls', '--fol'],
      ['calls', '--outcome', 'tim'],
      ['serve', '--lis'],
      ['serve', '--role', 'b'],
    ]),
  ).toEqual([['--follow'], ['timeout'], ['--listen'], ['backend']]);
});

it.each(['zsh', 'fish'] as const)('%s knows every option, and the values of those that have some', (shell) => {
  const script = scriptFor(shell, table);
  for (const { options } of table) {
    for (const { long, choices } of options) {
      expect(script).toContain(shell === 'zsh' ? `'${long}:` : ` -l ${long?.slice(2)}`);
      for (const choice of choices) expect(script).toContain(choice);
    }
  }
});
