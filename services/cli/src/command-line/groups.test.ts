import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { groups } from './groups.ts';
import { createProgram } from './program.ts';

const examples = groups.flatMap(({ commands }) => Object.values(commands).flatMap((each) => each.examples));

/** The words of a line of the shell, without its quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? (plain as string));
}

function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap((each) => leaves(each));
}

it.each(examples)('the example "omnibus %s" is a command with arguments and options that exist', async (line) => {
  const program = createProgram(() => Promise.reject(new Error('no command runs here')));
  let ran = 0;
  for (const command of leaves(program)) {
    command.exitOverride().action(() => {
      ran += 1;
    });
  }
  await program.parseAsync(wordsOf(line), { from: 'user' });
  expect(ran).toBe(1);
});

it('the help shows every command in a group, and says where to start', () => {
  const help = createProgram(() => Promise.reject(new Error('no command runs here')));
  let shown = '';
  help.configureOutput({
    writeOut: (text) => {
      shown += text;
    },
  });
  help.outputHelp();
  for (const { title, commands } of groups) {
    expect(shown).toContain(`${title}:`);
    for (const name of Object.keys(commands)) expect(shown).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
  }
  expect(shown).not.toContain('\nCommands:');
  expect(shown).toContain('omnibus import');
});
