/** Commands about the users of the gateway's own authorization server. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { asking, shared } from './shared-options.ts';

export function addUsers(program: Command): void {
  const users = program
    .command('users')
    .description(
      "add, list and remove users of the gateway's own authorization server, and show their programs (docs/how-to/identity.md)",
    );
  const command = (words: string, description: string): Command =>
    users
      .command(words)
      .description(description)
      .option(
        '-c, --config <file>',
        'configuration that names the file of users (default: omnibus.yaml in this folder)',
      )
      .option('-f, --file <file>', 'the file of users itself')
      .option(...shared.json);

  command(
    'add',
    'add a user, or change the password of one; the command prompts for the password, or reads it from stdin',
  )
    .argument('<name>', 'the name that the user signs in with')
    .option('-g, --group <name...>', 'groups of the user')
    .action(loaded(async () => (await import('../commands/users.ts')).addUser));

  command('list', 'list the users').action(loaded(async () => (await import('../commands/users.ts')).listUsers));

  command('remove', 'remove a user')
    .argument('<name>', 'the name that the user signs in with')
    .action(loaded(async () => (await import('../commands/users.ts')).removeUser));

  asking(
    users.command('show').argument('<user>', 'the name in the file of users, or ISSUER|SUBJECT'),
    'show the programs that a user has allowed, with their last use, and the agents of the user, at a running gateway',
  ).action(loaded(async () => (await import('../commands/programs.ts')).showPrograms));

  asking(
    users
      .command('revoke')
      .argument('<user>', 'the name in the file of users, or ISSUER|SUBJECT')
      .argument('<program>', 'as "omnibus users show" lists it'),
    'revoke the consent of a user to a program: its tokens end at once',
  ).action(loaded(async () => (await import('../commands/programs.ts')).revokeProgram));
}
