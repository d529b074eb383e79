/** Commands for NATS, and for the pods that the gateway makes for servers. */
import { Option, type Command } from 'commander';
import type { ExposeOptions } from '../commands/expose.ts';
import { loaded } from './loaded.ts';
import { portOption, shared } from './shared-options.ts';

export function addNats(program: Command): void {
  program
    .command('nats-permissions')
    .description(
      'print the configuration of NATS users, one for each role and one for the set-up, each with only the permissions that it needs (docs/reference/nats.md)',
    )
    .option('-c, --config <file>', 'configuration that names prefix and domain (default: omnibus.yaml in this folder)')
    .action(loaded(async () => (await import('../commands/permissions.ts')).printPermissions));

  const nats = program.command('nats').description('the NATS between the processes');
  nats
    .command('setup')
    .description(
      'create the streams and buckets of the gateway at NATS, and update those that differ; may be repeated, also while processes run (docs/reference/nats.md)',
    )
    .option(...shared.config)
    .option(
      '-b, --bus <address>',
      'nats://host:port, of a user that may create streams (default: that of the configuration)',
    )
    .addOption(
      new Option(
        '--replicas <count>',
        'replicas of each stream on a cluster of NATS; fewer than 3 lose data or stop with one node',
      )
        .choices(['1', '3', '5'])
        .default('3'),
    )
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/nats-setup.ts')).setUp));
}

/** Commands that run inside the pods which the gateway makes for servers. */
export function addPod(program: Command): void {
  program
    .command('expose')
    .description(
      'serve a program that speaks MCP on stdin and stdout over WebSockets, one program for each connection: omnibus expose --listen 0.0.0.0:7300 -- npx SERVER',
    )
    .requiredOption(
      '-l, --listen <host:port>',
      'address to listen on; every client of this address can use the program',
    )
    .addOption(portOption('0.0.0.0'))
    .option('--max-programs <number>', 'how many programs run at the same time', '64')
    .argument('<command...>', 'the program and its arguments, after "--"')
    .action(async (command: readonly [string, ...string[]], options: ExposeOptions) => {
      const { exposeProgram } = await import('../commands/expose.ts');
      await exposeProgram(command, options);
    });

  program
    .command('copy')
    .description(
      'copy this program, Node and the libraries that Node needs into a folder, from which it runs in any Linux image of the same architecture',
    )
    .argument('<folder>', 'the folder; loader, lib, node and app are created in it')
    .action(loaded(async () => (await import('../commands/copy.ts')).copyProgram));
}
