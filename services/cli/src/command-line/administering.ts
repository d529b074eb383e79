/** Commands that change the state of a running gateway. */
import { Option, type Command } from 'commander';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

export function addAdmin(program: Command): void {
  const command = (name: string, description: string): Command =>
    program
      .command(name)
      .description(description)
      .option(...shared.admin)
      .option(...shared.json);

  command('reload', 'make a running gateway read its configuration again')
    .option(...shared.signedIn)
    .option(...shared.tokens)
    .action(loaded(async () => (await import('../commands/administer.ts')).reload));

  addBlocks(command);

  withToken(command('usage', 'show what known callers have used'))
    .option('--days <number>', 'how many days of UTC, today included; 62 at most', '1')
    .addOption(
      new Option('--by <what>', 'what each row sums up')
        .choices(['caller', 'team', 'tool', 'tenant', 'server'])
        .default('caller'),
    )
    .action(loaded(async () => (await import('../commands/metering.ts')).showUsage));

  command(
    'recover',
    'print a token for the admin port if no user with a role is left; run it on a machine with the sealing key',
  )
    .option(
      '-c, --config <file>',
      'configuration that names the sealing key (default: omnibus.yaml in this folder, or the environment)',
    )
    .action(loaded(async () => (await import('../commands/administer.ts')).recover));
}

function withToken(command: Command): Command {
  return command.option(...shared.signedIn).option(...shared.tokens);
}

function addBlocks(command: (name: string, description: string) => Command): void {
  const kinds = 'user (ISSUER|SUBJECT, key:SUBJECT or agent:NAME), key (its id), client, tool (server/tool) or server';

  withToken(
    command(
      'block',
      'block a caller, key, client, tool or server in every process at once: its running calls are cancelled, and sessions and streams of a blocked caller end',
    ),
  )
    .argument('<kind>', kinds)
    .argument('<name>', 'which one')
    .option('--for <time>', 'how long, such as 30m, 1h or 168h (default: until it is unblocked)')
    .option('--because <text>', 'the reason; refused callers see it')
    .action(loaded(async () => (await import('../commands/metering.ts')).block));

  withToken(command('unblock', 'end a block'))
    .argument('<kind>', kinds)
    .argument('<name>', 'which one')
    .action(loaded(async () => (await import('../commands/metering.ts')).unblock));

  withToken(command('blocks', 'list the blocked callers, tools and servers')).action(
    loaded(async () => (await import('../commands/metering.ts')).showBlocks),
  );
}
