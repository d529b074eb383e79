/** The commands about labels of conversations. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { asking } from './shared-options.ts';

export function addLabels(program: Command): void {
  const labels = program
    .command('labels')
    .description('labels of conversations: show where they are from, and clear them (docs/how-to/flow.md)');
  const command = (words: string, description: string): Command => asking(labels.command(words), description);

  command('list', 'show conversations with labels, and the result that added each')
    .option('--user <user>', 'only of this user: ISSUER|SUBJECT, the subject alone, or a principal')
    .option('--client <name>', 'only of clients that give themselves this name')
    .option('--conversation <id>', 'only this conversation')
    .option('--session <key>', 'only this session, as "omnibus sessions" shows it')
    .option('--label <label>', 'only conversations with this label')
    .action(loaded(async () => (await import('../commands/labels.ts')).listLabels));

  command('clear', 'remove a label of a conversation, for all requests from now on; a later result may add it again')
    .argument('<label>', 'as list shows it')
    .requiredOption('--conversation <id>', 'the conversation, as list and refusals show it')
    .requiredOption('--reason <text>', 'why; it is on record')
    .action(loaded(async () => (await import('../commands/labels.ts')).clearLabel));
}
