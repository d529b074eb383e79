import { version } from '@omnibus/protocol';
import { Command, Option } from 'commander';
import { addApprovals } from './approvals.ts';
import { addAudit } from './audit.ts';
import { addDefinitions } from './definitions.ts';
import { addPolicy } from './policy.ts';
import { addConnections } from './connections.ts';
import { addFiles } from './files.ts';
import { addRunning } from './running.ts';
import { addUse } from './use.ts';
import { addUsers } from './users.ts';
import { addVault } from './vault.ts';
import { addWatching } from './watching.ts';
import type { CreateOptions, KeysOptions } from '../commands/keys.ts';
import type { ServeOptions } from '../commands/serve.ts';
import type { ActOptions, RecoverOptions } from '../commands/administer.ts';
import type { ExposeOptions } from '../commands/expose.ts';
import type { BlockOptions, UsageOptions } from '../commands/metering.ts';
import type { DoctorOptions } from '../commands/doctor.ts';
import type { LoginOptions, TokenOptions } from '../commands/login.ts';
import type { SetUpOptions } from '../commands/nats-setup.ts';
import type { StdioOptions } from '../commands/stdio.ts';
import type { Given, StartGateway } from '../gateway.ts';

/** The command line. Commands are loaded when they run, so that help and version come at once. @param start starts a gateway in this process. */
export function createProgram(start: StartGateway): Command {
  const program = new Command('omnibus')
    .description('One MCP endpoint for many MCP servers.')
    .version(version)
    .showHelpAfterError('(omnibus --help lists the commands)')
    .showSuggestionAfterError()
    .exitOverride();

  program
    .command('serve')
    .description('run the gateway')
    .option('-c, --config <file>', 'configuration file, YAML or JSON (default: omnibus.yaml in this folder)')
    .option('-l, --listen <host:port>', 'address that clients connect to (default: 127.0.0.1:7300)')
    .option('-a, --admin <host:port>', 'address of the admin port, with metrics and health (default: 127.0.0.1:7301)')
    .option('-b, --bus <address>', '"memory" for one process, or nats://host:port (default: memory)')
    .addOption(
      new Option('-r, --role <role>', 'which part of the gateway this process is')
        .choices(['all', 'edge', 'session', 'backend'])
        .default('all'),
    )
    .option('-y, --yes', 'start what servers start without asking, and agree to it')
    .option('--consent <digest>', 'start nothing but what this digest stands for, which "omnibus check" prints')
    .option('--no-input', 'never ask, even on a terminal')
    .option('--browser', 'open the page of a sign-in in a browser, also where none is expected to be seen')
    .option(
      '--no-browser',
      'never open the page of a sign-in by itself (default: where there is a display, and not in a container or in CI); its address is printed',
    )
    .action(async (options: Given<ServeOptions>) => {
      const { serve } = await import('../commands/serve.ts');
      await serve({ ...options, start });
    });

  program
    .command('stdio')
    .description('serve one client on stdin and stdout, for desktop clients that start their servers')
    .option('-c, --config <file>', 'configuration file, YAML or JSON (default: omnibus.yaml in this folder)')
    .option('-e, --endpoint <name>', 'a server or profile instead of all servers')
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
      'never open the page of a sign-in by itself (default: where there is a display, and not in a container or in CI); its address is printed',
    )
    .action(async (options: Given<StdioOptions>) => {
      const { serveStdio } = await import('../commands/stdio.ts');
      await serveStdio({ ...options, start });
    });

  program
    .command('doctor')
    .description('check everything that a gateway needs, and say what is wrong and how to mend it')
    .option('-c, --config <file>', 'configuration file, YAML or JSON (default: omnibus.yaml in this folder)')
    .option('-b, --bus <address>', '"memory" for one process, or nats://host:port (default: memory)')
    .addOption(
      new Option('-r, --role <role>', 'the role of the process; checks that only other roles need are left out')
        .choices(['all', 'edge', 'session', 'backend'])
        .default('all'),
    )
    .option('--json', 'print JSON')
    .action(async (options: Given<DoctorOptions>) => {
      const { doctor } = await import('../commands/doctor.ts');
      await doctor({ ...options, start });
    });

  addAdmin(program);

  program
    .command('check')
    .description('check a configuration and say everything that is wrong with it')
    .argument('[file]', 'the configuration, or the file of an MCP client (default: omnibus.yaml in this folder)')
    .option('-c, --config <file>', 'the same, as other commands take it')
    .option('--json', 'print JSON')
    .action(async (file: string | undefined, options: { readonly config?: string; readonly json?: boolean }) => {
      const { check } = await import('../commands/check.ts');
      await check(file, options);
    });

  program
    .command('migrate')
    .description('rename options in a configuration that an earlier version or another program calls differently')
    .argument('<file>', 'the configuration')
    .option('--write', 'change the file, instead of printing the changed text')
    .option('--json', 'print JSON')
    .action(async (file: string, options: { readonly write?: boolean; readonly json?: boolean }) => {
      const { migrate } = await import('../commands/migrate.ts');
      await migrate(file, options);
    });

  program
    .command('nats-permissions')
    .description(
      'print the configuration of NATS users, one for each role and one for the set-up, each with only the permissions that it needs (docs/reference/nats.md)',
    )
    .option('-c, --config <file>', 'configuration that names prefix and domain (default: omnibus.yaml in this folder)')
    .action(async (options: { readonly config?: string }) => {
      const { printPermissions } = await import('../commands/permissions.ts');
      await printPermissions(options);
    });

  const nats = program.command('nats').description('the NATS between the processes');
  nats
    .command('setup')
    .description(
      'create the streams and buckets of the gateway at NATS, and update those that differ; may be repeated, also while processes run (docs/reference/nats.md)',
    )
    .option('-c, --config <file>', 'configuration file, YAML or JSON (default: omnibus.yaml in this folder)')
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
    .option('--json', 'print JSON')
    .action(async (options: SetUpOptions) => {
      const { setUp } = await import('../commands/nats-setup.ts');
      await setUp(options);
    });

  addPod(program);
  addDefinitions(program);
  addPolicy(program);
  addApprovals(program);
  addUse(program, start);
  addFiles(program, start);
  addRunning(program);
  addWatching(program, start);
  addConnections(program, start);
  addVault(program);
  addKeys(program);
  addUsers(program);
  addAudit(program);
  addLogin(program);
  for (const command of program.commands) pointToOwnHelp(command, 'omnibus');
  return program;
}

/** Commands that run inside the pods which the gateway makes for servers. */
function addPod(program: Command): void {
  program
    .command('expose')
    .description(
      'serve a program that speaks MCP on stdin and stdout over WebSockets, one program for each connection: omnibus expose --listen 0.0.0.0:7300 -- npx SERVER',
    )
    .requiredOption('-l, --listen <host:port>', 'address to listen on; whoever reaches it can use the program')
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
    .action(async (folder: string) => {
      const { copyProgram } = await import('../commands/copy.ts');
      await copyProgram(folder);
    });
}

function addAdmin(program: Command): void {
  const command = (name: string, description: string): Command =>
    program
      .command(name)
      .description(description)
      .option(
        '-a, --admin <host:port>',
        'the admin address of a process, https://host:port where it speaks TLS',
        '127.0.0.1:7301',
      )
      .option('--json', 'print JSON');

  command('reload', 'make a running gateway read its configuration again')
    .option(
      '--signed-in <url>',
      'send the token that you signed in for at this gateway (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN is sent',
    )
    .option(
      '--tokens <file>',
      'file with the tokens that you signed in for (default: tokens.json in the folder of your settings)',
    )
    .action(async (options: ActOptions) => {
      const { reload } = await import('../commands/administer.ts');
      await reload(options);
    });

  const ask = (program: Command): Command =>
    program
      .option(
        '--signed-in <url>',
        'send the token that you signed in for at this gateway (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN is sent',
      )
      .option(
        '--tokens <file>',
        'file with the tokens that you signed in for (default: tokens.json in the folder of your settings)',
      );
  const kinds = 'user (ISSUER|SUBJECT, or key:SUBJECT), key (its id), client, tool (server/tool) or server';

  ask(
    command(
      'block',
      'block a caller, key, client, tool or server in every process at once: its running calls are cancelled, and sessions and streams of a blocked caller end',
    ),
  )
    .argument('<kind>', kinds)
    .argument('<name>', 'which one')
    .option('--for <time>', 'how long, such as 30m, 1h or 168h (default: until it is unblocked)')
    .option('--because <text>', 'the reason, which refused callers are told')
    .action(async (kind: string, name: string, options: BlockOptions) => {
      const { block } = await import('../commands/metering.ts');
      await block(kind, name, options);
    });

  ask(command('unblock', 'end a block'))
    .argument('<kind>', kinds)
    .argument('<name>', 'which one')
    .action(async (kind: string, name: string, options: ActOptions) => {
      const { unblock } = await import('../commands/metering.ts');
      await unblock(kind, name, options);
    });

  ask(command('blocks', 'show who and what is blocked')).action(async (options: ActOptions) => {
    const { showBlocks } = await import('../commands/metering.ts');
    await showBlocks(options);
  });

  ask(command('usage', 'show what known callers have used'))
    .option('--days <number>', 'how many days of UTC, today included; 62 at most', '1')
    .addOption(
      new Option('--by <what>', 'what each row sums up')
        .choices(['caller', 'team', 'tool', 'tenant', 'server'])
        .default('caller'),
    )
    .action(async (options: UsageOptions) => {
      const { showUsage } = await import('../commands/metering.ts');
      await showUsage(options);
    });

  command(
    'recover',
    'print a token for the admin port when nobody who may use it is left; run it where the sealing key is',
  )
    .option(
      '-c, --config <file>',
      'configuration that names the sealing key (default: omnibus.yaml in this folder, or the environment)',
    )
    .action(async (options: RecoverOptions) => {
      const { recover } = await import('../commands/administer.ts');
      await recover(options);
    });
}

function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('make, list and revoke API keys of callers (docs/how-to/identity.md)');
  const command = (words: string, description: string): Command =>
    keys
      .command(words)
      .description(description)
      .option('-c, --config <file>', 'configuration that names the file of keys (default: omnibus.yaml in this folder)')
      .option('-f, --file <file>', 'the file of keys itself')
      .option('--json', 'print JSON');

  command('create', 'make an API key and print it; it is never shown again')
    .requiredOption(
      '-s, --subject <name>',
      'the caller that the key belongs to; all keys of one subject are one caller',
    )
    .option('-t, --tenant <name>', 'tenant of the caller; the same subject in another tenant is another caller')
    .option('-g, --group <name...>', 'groups of the caller')
    .option(
      '-e, --endpoint <name...>',
      'servers and profiles that the key is good for, "/mcp" for the endpoint of all servers (default: every endpoint)',
    )
    .option(
      '-T, --tool <pattern...>',
      'tools that the key is good for, as in rules: "github/get_*", a server for all it has, "prompt:server/name", "resource:server/uri" (default: all that the rules allow)',
    )
    .option('-x, --expires <when>', 'when the key expires: days such as 90d, or a date (default: never)')
    .option('-n, --note <text>', 'a note for people')
    .action(async (options: CreateOptions) => {
      const { createKey } = await import('../commands/keys.ts');
      await createKey(options);
    });

  command('list', 'list the API keys: whose they are, and whether they are valid, expired or revoked').action(
    async (options: KeysOptions) => {
      const { listKeys } = await import('../commands/keys.ts');
      await listKeys(options);
    },
  );

  command('revoke', 'revoke an API key')
    .argument('<id>', 'the part between the two "_" of the key, or the whole key')
    .action(async (id: string, options: KeysOptions) => {
      const { revokeKey } = await import('../commands/keys.ts');
      await revokeKey(id, options);
    });
}

function addLogin(program: Command): void {
  const command = (name: string, description: string): Command =>
    program
      .command(name)
      .description(description)
      .argument('<url>', 'address of the gateway, such as https://mcp.example.com/mcp')
      .option(
        '--tokens <file>',
        'file with the tokens that you signed in for (default: tokens.json in the folder of your settings)',
      )
      .option('--json', 'print JSON');

  command('login', 'sign in to a gateway with your browser')
    .option('--client-id <id>', 'client id, where a client was registered by hand')
    .option('--client-secret <secret>', 'secret of that client, if it has one')
    .option('--scope <scope...>', 'scopes to ask for in addition to those that the gateway names, such as mcp:admin')
    .option(
      '--device',
      'sign in by a code that you type on another device, if the authorization server supports that (default: where this machine has no display)',
    )
    .option('--no-browser', 'print the address instead of opening a browser')
    .action(async (url: string, options: LoginOptions) => {
      const { login } = await import('../commands/login.ts');
      await login(url, options);
    });

  command('logout', 'forget the tokens for a gateway, and revoke them where its issuer allows that').action(
    async (url: string, options: TokenOptions) => {
      const { logout } = await import('../commands/login.ts');
      await logout(url, options);
    },
  );

  command('whoami', 'show who you are at a gateway').action(async (url: string, options: TokenOptions) => {
    const { whoAmI } = await import('../commands/login.ts');
    await whoAmI(url, options);
  });

  command('token', 'print a valid access token for a gateway; it is refreshed first if it has expired').action(
    async (url: string, options: TokenOptions) => {
      const { printToken } = await import('../commands/login.ts');
      await printToken(url, options);
    },
  );
}

/** A mistake in the options of a command is answered with the help of that command. */
function pointToOwnHelp(command: Command, above: string): void {
  const words = `${above} ${command.name()}`;
  command.showHelpAfterError(`(${words} --help lists its ${command.commands.length > 0 ? 'commands' : 'options'})`);
  for (const each of command.commands) pointToOwnHelp(each, words);
}
