/** Commands that run a gateway, and that check its requirements. */
import { Option, type Command } from 'commander';
import type { StartGateway } from '../gateway.ts';
import { parseWorkers } from '../workers/number-of-workers.ts';
import { loaded } from './loaded.ts';
import { portOption, shared } from './shared-options.ts';

export function addServing(program: Command, start: StartGateway): void {
  program
    .command('serve')
    .description('run the gateway')
    .option(...shared.config)
    .option('-l, --listen <host:port>', 'address that clients connect to (default: 127.0.0.1:7300)')
    .addOption(portOption('127.0.0.1'))
    .option('-a, --admin <host:port>', 'address of the admin port, with metrics and health (default: 127.0.0.1:7301)')
    .option('-b, --bus <address>', '"memory" for one process, or nats://host:port (default: memory)')
    .addOption(
      new Option('-r, --role <role>', 'which part of the gateway this process is')
        .choices(['all', 'edge', 'session', 'backend'])
        .default('all'),
    )
    .addOption(
      new Option(
        '-w, --workers <number>',
        'number of processes that serve clients at one address, or "auto" for one for each core; without NATS (docs/how-to/cores.md)',
      ).argParser(parseWorkers),
    )
    .option('-y, --yes', 'start the programs of servers without a question, and approve them')
    .option('--consent <digest>', 'start nothing but what this digest stands for, which "omnibus check" prints')
    .option(...shared.noInput)
    .option('--browser', 'open the page of a sign-in in a browser, also where none is expected to be seen')
    .option(
      '--no-browser',
      'print the address of a sign-in instead of opening its page (default: open it if there is a display, but not in a container or in CI)',
    )
    .action(loaded(async () => (await import('../commands/serve.ts')).serve, { start }));
  addStdio(program, start);
  addDoctor(program, start);
}

function addStdio(program: Command, start: StartGateway): void {
  program
    .command('stdio')
    .description('serve one client on stdin and stdout, for desktop clients that start their servers')
    .option(...shared.config)
    .option(...shared.endpoint)
    .option('--consent <digest>', 'start nothing but what this digest stands for, which "omnibus check" prints')
    .option(
      '--connect <url>',
      'connect to a running gateway instead of starting the servers: http://127.0.0.1:7300/mcp',
    )
    .option(
      '-H, --header <line...>',
      'with --connect: an HTTP header that is sent with every request, "Name: value" (default: OMNIBUS_TOKEN, or the token that you signed in for)',
    )
    .option(
      '--tokens <file>',
      'with --connect: file with the tokens that you signed in for (default: tokens.json in the folder of your settings)',
    )
    .option(
      '--device',
      'with --connect: sign in by a code that you type on another device, if the authorization server supports that',
    )
    .option('--browser', 'open the page of a sign-in in a browser, also where none is expected to be seen')
    .option(
      '--no-browser',
      'print the address of a sign-in instead of opening its page (default: open it if there is a display, but not in a container or in CI)',
    )
    .action(loaded(async () => (await import('../commands/stdio.ts')).serveStdio, { start }));
}

function addDoctor(program: Command, start: StartGateway): void {
  program
    .command('doctor')
    .description(
      'check the requirements of a gateway, and print each problem and its fix. In a folder without a configuration, ask the gateway that runs',
    )
    .option(...shared.config)
    .option(
      '-a, --admin <host:port>',
      'the admin address of a gateway that runs (default: that of the configuration, else OMNIBUS_ADMIN or 127.0.0.1:7301)',
    )
    .option(...shared.signedIn)
    .option(...shared.tokens)
    .option('-b, --bus <address>', '"memory" for one process, or nats://host:port (default: memory)')
    .addOption(
      new Option('-r, --role <role>', 'the role of the process; checks that only other roles need are left out')
        .choices(['all', 'edge', 'session', 'backend'])
        .default('all'),
    )
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/doctor.ts')).doctor, { start }));
}

export function addChecking(program: Command): void {
  program
    .command('check')
    .description('check a configuration and say everything that is wrong with it')
    .argument('[file]', 'the configuration, or the file of an MCP client (default: omnibus.yaml in this folder)')
    .option('-c, --config <file>', 'the same, as other commands take it')
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/check.ts')).check));

  program
    .command('migrate')
    .description('rename options in a configuration that an earlier version or another program calls differently')
    .argument('<file>', 'the configuration')
    .option('--write', 'change the file, instead of printing the changed text')
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/migrate.ts')).migrate));
}
