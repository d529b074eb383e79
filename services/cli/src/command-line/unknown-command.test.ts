import { expect, it } from 'vitest';
import { createProgram } from './program.ts';
import { unknownCommand } from './unknown-command.ts';

const program = createProgram(() => Promise.reject(new Error('no command runs here')));

it.each([
  [['stat'], 'stat'],
  [['keys', 'mak'], 'mak'],
  [['help', 'stat'], 'stat'],
  [['keys', 'help', 'mak'], 'mak'],
  [['help', 'keys', 'create'], undefined],
  [['keys', 'help'], undefined],
  [['call', 'stat'], undefined],
])('the unknown command of %j is %s', (args, word) => {
  expect(unknownCommand(program, args)?.word).toBe(word);
});
