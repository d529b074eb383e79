import { CommanderError } from 'commander';
import { createProgram } from './cli.ts';
import { exits } from './exit-codes.ts';

try {
  await createProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander throws for help and version too, with exit code 0.
  process.exitCode = error.exitCode === 0 ? exits.done.code : exits.usage.code;
}
