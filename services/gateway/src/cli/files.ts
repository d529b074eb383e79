/** Commands that change configurations: that of the gateway, and those of clients. */
import type { Command } from 'commander';
import type { ConnectOptions } from '../commands/connect.ts';
import type { AddServerOptions, FileOptions } from '../commands/servers.ts';

export function addFiles(program: Command): void {
  const command = (words: string, description: string): Command => program.command(words).description(description)
    .option('-c, --config <file>', 'the configuration to change (default: omnibus.yaml here, which is made)')
    .option('-y, --yes', 'do not ask')
    .option('--print', 'print what it would hold, and change nothing')
    .option('--no-input', 'ask nothing, even on a terminal')
    .option('--json', 'as JSON');

  command('add', 'add a server to the configuration, after trying it')
    .argument('<name>', 'what it is to be called')
    .argument('[command...]', 'a program and its arguments behind --, or an address')
    .option('--url <url>', 'its address')
    .option('--type <type>', 'how to talk to it, where that does not follow: stdio, http, sse, websocket')
    .option('-H, --header <line...>', 'an HTTP header to send it, such as "Authorization: Bearer ${TOKEN}"')
    .option('-E, --env <pair...>', 'NAME=value, environment of the program')
    .option('--cwd <folder>', 'folder the program starts in')
    .option('--no-try', 'do not try it first')
    .action(async (name: string, words: readonly string[], options: AddServerOptions) => {
      const { addServer } = await import('../commands/servers.ts');
      await addServer(name, words, options);
    });

  command('remove', 'take a server out of the configuration')
    .argument('<server>', 'its name')
    .action(async (name: string, options: FileOptions) => {
      const { removeServer } = await import('../commands/servers.ts');
      await removeServer(name, options);
    });

  command('import', 'take over the servers that clients have')
    .argument('[from...]', 'clients (omnibus clients) or files of theirs (default: every one that is found)')
    .option('--dry-run', 'the same as --print')
    .action(async (from: readonly string[], options: FileOptions & { readonly dryRun?: boolean }) => {
      const { importServers } = await import('../commands/import.ts');
      await importServers(from, options.dryRun === true ? { ...options, print: true } : options);
    });

  program.command('clients').description('list the clients whose files are known, and where those are')
    .option('--json', 'as JSON')
    .action(async (options: { readonly json?: boolean }) => {
      const { listClients } = await import('../commands/connect.ts');
      await listClients(options);
    });

  const ofClient = (words: string, description: string): Command => program.command(words).description(description)
    .argument('<client>', 'such as cursor or vscode (omnibus clients)')
    .option('-n, --name <name>', 'what the gateway is called there', 'omnibus')
    .option('--project', 'in the file of the project in this folder, instead of your own')
    .option('-f, --file <file>', 'the file itself')
    .option('-y, --yes', 'do not ask')
    .option('--print', 'print what the file would hold, and change nothing')
    .option('--no-input', 'ask nothing, even on a terminal')
    .option('--json', 'as JSON');

  ofClient('connect', 'write the gateway into the file of a client, of which a copy is kept')
    .option('-u, --url <url>', 'address of the gateway', 'http://127.0.0.1:7300/mcp')
    .option('-e, --endpoint <name>', 'a server or profile instead of all servers')
    .option('-H, --header <line...>', 'an HTTP header to send, "Name: value"')
    .action(async (client: string, options: ConnectOptions) => {
      const { connect } = await import('../commands/connect.ts');
      await connect(client, options);
    });

  ofClient('disconnect', 'take the gateway out of the file of a client')
    .action(async (client: string, options: ConnectOptions) => {
      const { disconnect } = await import('../commands/connect.ts');
      await disconnect(client, options);
    });
}
