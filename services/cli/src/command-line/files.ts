/** Commands that change configurations: that of the gateway, and those of clients. */
import type { Command } from 'commander';
import type { FileOptions } from '../commands/servers.ts';
import type { StartGateway } from '../gateway.ts';
import { loaded } from './loaded.ts';
import { withRegistry } from './registry.ts';
import { shared } from './shared-options.ts';

export function addFiles(program: Command, start: StartGateway): void {
  const command = (words: string, description: string): Command =>
    program
      .command(words)
      .description(description)
      .option(
        '-c, --config <file>',
        'the configuration to change (default: omnibus.yaml in this folder, which is created if missing)',
      )
      .option('-y, --yes', 'change the file without asking')
      .option('--print', 'print the changed file, and change nothing')
      .option(...shared.noInput)
      .option(...shared.json);

  const add = command('add', 'add a server to the configuration, after connecting to it once')
    .argument('<name>', 'name of the server')
    .argument('[command...]', 'a program and its arguments after "--", or an address')
    .option('--url <url>', 'address of the server')
    .option('--openapi <document>', 'file or address of the OpenAPI document of an HTTP API')
    .option(
      '--type <type>',
      'transport, where it does not follow from the command or address: stdio, http, sse, websocket',
    )
    .option(
      '-H, --header <line...>',
      'an HTTP header that is sent with every request, such as "Authorization: Bearer ${TOKEN}"',
    )
    .option('-E, --env <pair...>', 'NAME=value, an environment variable of the program')
    .option('--cwd <folder>', 'folder the program starts in')
    .option('--no-try', 'do not connect to the server first');
  withRegistry(add).action(loaded(async () => (await import('../commands/servers.ts')).addServer, { start }));

  command('remove', 'remove a server from the configuration')
    .argument('<server>', 'name of the server')
    .action(loaded(async () => (await import('../commands/servers.ts')).removeServer));

  addImport(command);
}

function addImport(command: (words: string, description: string) => Command): void {
  command('import', 'copy the servers of MCP clients into the configuration')
    .argument(
      '[from...]',
      'names of clients (omnibus clients lists them) or of their files (default: all that are found)',
    )
    .option('--dry-run', 'the same as --print')
    .action(async (from: readonly string[], options: FileOptions & { readonly dryRun?: boolean }) => {
      const { importServers } = await import('../commands/import.ts');
      await importServers(from, options.dryRun === true ? { ...options, print: true } : options);
    });
}

export function addClients(program: Command): void {
  program
    .command('clients')
    .description('list the MCP clients with known files, and the paths of these')
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/connect.ts')).listClients));

  const ofClient = (words: string, description: string): Command =>
    program
      .command(words)
      .description(description)
      .argument('<client>', 'a client such as cursor or vscode (omnibus clients lists them)')
      .option('-n, --name <name>', 'name of the gateway in that file', 'omnibus')
      .option('--project', 'use the file of the project in this folder, instead of your own')
      .option('-f, --file <file>', 'path of the file of the client')
      .option('-y, --yes', 'change the file without asking')
      .option('--print', 'print the changed file, and change nothing')
      .option(...shared.noInput)
      .option(...shared.json);

  ofClient('connect', 'write the gateway into the file of an MCP client, and back up the file')
    .option('-u, --url <url>', 'address of the gateway (default: OMNIBUS_URL, or http://127.0.0.1:7300/mcp)')
    .option(...shared.endpoint)
    .option('-H, --header <line...>', 'an HTTP header that is sent with every request, "Name: value"')
    .option(
      '--search',
      'list three tools, by which the model finds all others, and keep them loaded where the client can',
    )
    .option('--replace', 'remove the servers from that file that omnibus.yaml in this folder has too')
    .action(loaded(async () => (await import('../commands/connect.ts')).connect));

  ofClient('disconnect', 'remove the gateway from the file of an MCP client').action(
    loaded(async () => (await import('../commands/connect.ts')).disconnect),
  );
}
