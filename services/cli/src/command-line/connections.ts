/** Commands by which users sign in for servers behind a gateway, list their connections, and end them. */
import type { Command } from 'commander';
import type { StartGateway } from '../gateway.ts';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

export function addConnections(program: Command, start: StartGateway): void {
  program
    .command('sign-in')
    .description('sign in for a server behind a gateway, with your browser, so that it is called in your name')
    .argument('<server>', 'name of the server')
    .option('-u, --url <url>', 'the gateway (default: OMNIBUS_URL, or http://127.0.0.1:7300/mcp)')
    .option(...shared.header)
    .option(...shared.tokens)
    .option('--answer <pair...>', 'code=CODE, the code that the page shows at the end, where it shows one')
    .option(...shared.timeout)
    .option('--no-browser', 'print the address instead of opening a browser')
    .option(...shared.noInput)
    .option(...shared.quiet)
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/sign-in.ts')).signInFor, { start }));
  addConnected(program);
}

function addConnected(program: Command): void {
  const connections = program
    .command('connections')
    .description('list and revoke what users have connected to servers (docs/how-to/credentials.md)');
  const command = (words: string, description: string): Command =>
    connections
      .command(words)
      .description(description)
      .option(
        '-u, --url <url>',
        'the gateway at which you connected (default: OMNIBUS_URL, or http://127.0.0.1:7300/mcp)',
      )
      .option(...shared.header)
      .option(
        '-a, --admin <host:port>',
        'ask for the connections of all users at the admin address of a process that serves clients, https://host:port where it speaks TLS',
      )
      .option(
        '--signed-in <url>',
        'with --admin: send the token that you signed in for at this gateway (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN is sent',
      )
      .option(...shared.tokens)
      .option(...shared.json);

  command('list', 'list what you have connected, or with --admin what all users have').action(
    loaded(async () => (await import('../commands/connections.ts')).listConnections),
  );

  command('remove', 'end all access of a removed user; for users in the gateway\'s file, run "users remove" instead')
    .requiredOption('--user <name>', 'the user: the subject that "list --admin" shows under USER')
    .option(
      '--issuer <issuer>',
      'the issuer of the identity, or omnibus:keys for API keys; required if several have a user of that name',
    )
    .action(loaded(async () => (await import('../commands/connections.ts')).removeConnections));

  command('revoke', 'end a connection: its tokens are removed here, and taken back by their issuer if it supports that')
    .argument('<server>', 'name of the server')
    .option('-p, --principal <key>', 'with --admin: the user, as "list --admin" shows under PRINCIPAL')
    .action(loaded(async () => (await import('../commands/connections.ts')).revokeConnection));
}
