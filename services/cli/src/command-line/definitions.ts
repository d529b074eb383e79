/** The commands that compare definitions of servers with those that were approved. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { asking, shared } from './shared-options.ts';

export function addDefinitions(program: Command): void {
  const definitions = program
    .command('definitions')
    .description('compare what servers say of their tools with what was approved (docs/how-to/definitions.md)');
  const command = (words: string, description: string): Command => asking(definitions.command(words), description);

  command('status', 'list the differences from the approved definitions').action(
    loaded(async () => (await import('../commands/definitions.ts')).listDefinitions),
  );

  command('diff', 'show the differences of a server, with the risky ones marked')
    .argument('<server>', 'name of the server in the configuration')
    .argument(
      '[name...]',
      'tools, prompts and resource templates by the server\'s own names, or "instructions" (default: all)',
    )
    .action(loaded(async () => (await import('../commands/definitions.ts')).showDifferences));

  command('approve', 'show the differences of a server, and approve them after you have confirmed')
    .argument('<server>', 'name of the server in the configuration')
    .argument(
      '[name...]',
      'tools, prompts and resource templates by the server\'s own names, or "instructions" (default: all)',
    )
    .option('-y, --yes', 'approve the shown changes without a question')
    .option(...shared.noInput)
    .action(loaded(async () => (await import('../commands/definitions.ts')).approveDefinitions));
}
