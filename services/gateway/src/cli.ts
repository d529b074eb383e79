import { version } from '@omnibus/protocol';
import { Command, Option } from 'commander';
import { addAudit } from './cli-audit.ts';
import { addDefinitions } from './cli-definitions.ts';
import { addPolicy } from './policy-command-line.ts';
import { addFiles } from './cli/files.ts';
import { addRunning } from './cli/running.ts';
import { addUse } from './cli/use.ts';
import type { CreateOptions, KeysOptions } from './commands/keys.ts';
import type { ServeOptions } from './commands/serve.ts';
import type { AskOptions, RecoverOptions } from './commands/administer.ts';
import type { ExposeOptions } from './commands/expose.ts';
import type { BlockOptions, ShowOptions, UsageOptions } from './commands/metering.ts';
import type { DoctorOptions } from './commands/doctor.ts';
import type { StatusOptions } from './commands/status.ts';
import type { LoginOptions, TokenOptions } from './commands/login.ts';
import type { StdioOptions } from './commands/stdio.ts';
import type { AddOptions, UsersOptions } from './commands/users.ts';

/** The command line. Commands are loaded when they run, so that help and version come at once. */
export function createProgram(): Command {
  const program = new Command('omnibus')
    .description('One MCP endpoint for many MCP servers.')
    .version(version)
    .showHelpAfterError('(omnibus --help shows what there is)')
    .showSuggestionAfterError()
    .exitOverride();

  program.command('serve', { isDefault: true })
    .description('run the gateway')
    .option('-c, --config <file>', 'configuration, YAML or JSON (default: omnibus.yaml here)')
    .option('-l, --listen <host:port>', 'where clients connect (default: 127.0.0.1:7300)')
    .option('-a, --admin <host:port>', 'where metrics and health are served (default: 127.0.0.1:7301)')
    .option('-b, --bus <address>', '"memory", or nats://host:port (default: memory)')
    .addOption(new Option('-r, --role <role>', 'which part of the gateway this process is').choices(['all', 'edge', 'session', 'backend']).default('all'))
    .action(async (options: ServeOptions) => {
      const { serve } = await import('./commands/serve.ts');
      await serve(options);
    });

  program.command('stdio')
    .description('serve one client on stdin and stdout, for desktop clients that start their servers')
    .option('-c, --config <file>', 'configuration, YAML or JSON (default: omnibus.yaml here)')
    .option('-e, --endpoint <name>', 'a server or profile instead of all servers')
    .option('--connect <url>', 'join a gateway that runs already, instead of starting the servers: http://127.0.0.1:7300/mcp')
    .option('-H, --header <line...>', 'with --connect: an HTTP header to send, "Name: value"')
    .option('--tokens <file>', 'with --connect: where tokens are kept that you sign in for (default: tokens.json in the folder of your settings)')
    .action(async (options: StdioOptions) => {
      const { serveStdio } = await import('./commands/stdio.ts');
      await serveStdio(options);
    });

  program.command('doctor')
    .description('try everything a gateway needs, and say what is wrong and what to do')
    .option('-c, --config <file>', 'configuration, YAML or JSON (default: omnibus.yaml here)')
    .option('-b, --bus <address>', '"memory", or nats://host:port (default: memory)')
    .addOption(new Option('-r, --role <role>', 'what this process is to be; what other roles need is left out').choices(['all', 'edge', 'session', 'backend']).default('all'))
    .option('--json', 'as JSON')
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import('./commands/doctor.ts');
      await doctor(options);
    });

  program.command('status')
    .description('show what running processes of a gateway do')
    .option('-a, --admin <host:port...>', 'their admin addresses, https://host:port where they speak TLS', ['127.0.0.1:7301'])
    .option('--signed-in <url>', 'as whoever is signed in to the gateway at this address (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN')
    .option('--tokens <file>', 'where tokens are kept (default: tokens.json in the folder of your settings)')
    .option('--json', 'as JSON')
    .action(async (options: StatusOptions) => {
      const { status } = await import('./commands/status.ts');
      await status(options);
    });

  addAdmin(program);

  program.command('check')
    .description('check a configuration and say everything that is wrong with it')
    .argument('[file]', 'the configuration, or the file of a client (default: omnibus.yaml here)')
    .option('--json', 'as JSON')
    .action(async (file: string | undefined, options: { readonly json?: boolean }) => {
      const { check } = await import('./commands/check.ts');
      await check(file, options);
    });

  program.command('migrate')
    .description('bring a configuration that an earlier version or another program used to what options are called now')
    .argument('<file>', 'the configuration')
    .option('--write', 'change the file, instead of showing what it would be')
    .action(async (file: string, options: { readonly write?: boolean }) => {
      const { migrate } = await import('./commands/migrate.ts');
      migrate(file, options);
    });

  program.command('nats-permissions')
    .description('print users of NATS, one for each role, that may do what it needs and nothing else (docs/nats.md)')
    .option('-c, --config <file>', 'configuration that names prefix and domain (default: omnibus.yaml here)')
    .action(async (options: { readonly config?: string }) => {
      const { printPermissions } = await import('./commands/permissions.ts');
      printPermissions(options);
    });

  addPod(program);
  addDefinitions(program);
  addPolicy(program);
  addUse(program);
  addFiles(program);
  addRunning(program);
  addKeys(program);
  addUsers(program);
  addAudit(program);
  addLogin(program);
  return program;
}

/** What pods run that Kubernetes has for servers. */
function addPod(program: Command): void {
  program.command('expose')
    .description('serve a program that speaks MCP on stdin and stdout over WebSockets, one program for each connection: omnibus expose --listen 0.0.0.0:7300 -- npx SERVER')
    .requiredOption('-l, --listen <host:port>', 'where to listen; whoever reaches it may use the program')
    .option('--max-programs <number>', 'programs at once', '64')
    .argument('<command...>', 'the program and its arguments, after "--"')
    .action(async (command: readonly [string, ...string[]], options: ExposeOptions) => {
      const { exposeProgram } = await import('./commands/expose.ts');
      await exposeProgram(command, options);
    });

  program.command('copy')
    .description('copy this program, and the Node it runs on with its libraries, into a folder, from which it runs in any image of the same architecture')
    .argument('<folder>', 'where to; loader, lib, node and app are made there')
    .action(async (folder: string) => {
      const { copyProgram } = await import('./commands/copy.ts');
      copyProgram(folder);
    });
}

function addAdmin(program: Command): void {
  const command = (name: string, description: string): Command => program.command(name).description(description)
    .option('-a, --admin <host:port>', 'the admin address of a process, https://host:port where it speaks TLS', '127.0.0.1:7301');

  command('reload', 'have a running gateway read its configuration again')
    .option('--signed-in <url>', 'as whoever is signed in to the gateway at this address (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN')
    .option('--tokens <file>', 'where tokens are kept (default: tokens.json in the folder of your settings)')
    .action(async (options: AskOptions) => {
      const { reload } = await import('./commands/administer.ts');
      await reload(options);
    });

  const ask = (program: Command): Command => program
    .option('--signed-in <url>', 'as whoever is signed in to the gateway at this address (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN')
    .option('--tokens <file>', 'where tokens are kept (default: tokens.json in the folder of your settings)');
  const kinds = 'user (ISSUER|SUBJECT, or key:SUBJECT), key (its id), client, tool (server/tool) or server';

  ask(command('block', 'let somebody or something do nothing any more, everywhere and at once: calls that run are cancelled, sessions and streams end'))
    .argument('<kind>', kinds)
    .argument('<name>', 'which one')
    .option('--for <time>', 'such as 30m, 1h or 168h (default: until it is unblocked)')
    .option('--because <text>', 'why; said to whoever is refused')
    .action(async (kind: string, name: string, options: BlockOptions) => {
      const { block } = await import('./commands/metering.ts');
      await block(kind, name, options);
    });

  ask(command('unblock', 'take a block back'))
    .argument('<kind>', kinds)
    .argument('<name>', 'which one')
    .action(async (kind: string, name: string, options: AskOptions) => {
      const { unblock } = await import('./commands/metering.ts');
      await unblock(kind, name, options);
    });

  ask(command('blocks', 'show who and what is blocked'))
    .option('--json', 'as JSON')
    .action(async (options: ShowOptions) => {
      const { showBlocks } = await import('./commands/metering.ts');
      await showBlocks(options);
    });

  ask(command('usage', 'show what known callers have used'))
    .option('--days <number>', 'today and the days before it, of UTC, 62 at most', '1')
    .addOption(new Option('--by <what>', 'summed up by').choices(['caller', 'team', 'tool', 'tenant', 'server']).default('caller'))
    .option('--json', 'as JSON')
    .action(async (options: UsageOptions) => {
      const { showUsage } = await import('./commands/metering.ts');
      await showUsage(options);
    });

  command('recover', 'print a token for the admin port when nobody is left who may use it, where the sealing key is')
    .option('-c, --config <file>', 'configuration that names the sealing key (default: omnibus.yaml here, or the environment)')
    .action(async (options: RecoverOptions) => {
      const { recover } = await import('./commands/administer.ts');
      await recover(options);
    });
}

function addKeys(program: Command): void {
  const keys = program.command('keys').description('API keys that callers are known by (docs/identity.md)');
  const command = (words: string, description: string): Command => keys.command(words).description(description)
    .option('-c, --config <file>', 'configuration that names the file of keys (default: omnibus.yaml here)')
    .option('-f, --file <file>', 'the file of keys itself');

  command('create', 'make a key and show it, this once')
    .requiredOption('-s, --subject <name>', 'whom it speaks for; keys of one name are one caller')
    .option('-t, --tenant <name>', 'the tenant of its caller: the same subject of another tenant is another caller')
    .option('-g, --group <name...>', 'groups of its caller')
    .option('-e, --endpoint <name...>', 'servers and profiles it opens, "/mcp" for the endpoint of all (default: every endpoint)')
    .option('-x, --expires <when>', 'days such as 90d, or a date (default: never)')
    .option('-n, --note <text>', 'for people')
    .action(async (options: CreateOptions) => {
      const { createKey } = await import('./commands/keys.ts');
      createKey(options);
    });

  command('list', 'show whom the keys speak for, and what became of them')
    .option('--json', 'as JSON')
    .action(async (options: KeysOptions & { readonly json?: boolean }) => {
      const { listKeys } = await import('./commands/keys.ts');
      listKeys(options);
    });

  command('revoke', 'make a key open nothing any more')
    .argument('<id>', 'the part between the two "_" of the key')
    .action(async (id: string, options: KeysOptions) => {
      const { revokeKey } = await import('./commands/keys.ts');
      revokeKey(id, options);
    });
}

function addUsers(program: Command): void {
  const users = program.command('users').description('users of the gateway\'s own authorization server (docs/identity.md)');
  const command = (words: string, description: string): Command => users.command(words).description(description)
    .option('-c, --config <file>', 'configuration that names the file of users (default: omnibus.yaml here)')
    .option('-f, --file <file>', 'the file of users itself');

  command('add', 'add a user, or give one another password, which is read from stdin')
    .argument('<name>', 'what the user signs in as')
    .option('-g, --group <name...>', 'groups of the user')
    .action(async (name: string, options: AddOptions) => {
      const { addUser } = await import('./commands/users.ts');
      await addUser(name, options);
    });

  command('list', 'show the users there are')
    .option('--json', 'as JSON')
    .action(async (options: UsersOptions & { readonly json?: boolean }) => {
      const { listUsers } = await import('./commands/users.ts');
      await listUsers(options);
    });

  command('remove', 'make somebody no user any more')
    .argument('<name>', 'what the user signs in as')
    .action(async (name: string, options: UsersOptions) => {
      const { removeUser } = await import('./commands/users.ts');
      await removeUser(name, options);
    });
}

function addLogin(program: Command): void {
  const command = (name: string, description: string): Command => program.command(name).description(description)
    .argument('<url>', 'address of the gateway, such as https://mcp.example.com/mcp')
    .option('--tokens <file>', 'where tokens are kept (default: tokens.json in the folder of your settings)');

  command('login', 'sign in to a gateway with your browser')
    .option('--client-id <id>', 'a client that was registered by hand')
    .option('--client-secret <secret>', 'its secret, where it has one')
    .option('--scope <scope...>', 'scopes to ask for besides those that the gateway names, such as mcp:admin')
    .option('--device', 'by a code that you type on another device, where the sign-in has that (default: where this machine shows no pages)')
    .option('--no-browser', 'show the address, and open no browser')
    .action(async (url: string, options: LoginOptions) => {
      const { login } = await import('./commands/login.ts');
      await login(url, options);
    });

  command('logout', 'forget the tokens for a gateway')
    .action(async (url: string, options: TokenOptions) => {
      const { logout } = await import('./commands/login.ts');
      await logout(url, options);
    });

  command('whoami', 'show who you are at a gateway')
    .option('--json', 'as JSON')
    .action(async (url: string, options: TokenOptions & { readonly json?: boolean }) => {
      const { whoAmI } = await import('./commands/login.ts');
      await whoAmI(url, options);
    });

  command('token', 'print a token for a gateway, a fresh one when it is needed')
    .action(async (url: string, options: TokenOptions) => {
      const { printToken } = await import('./commands/login.ts');
      await printToken(url, options);
    });
}
