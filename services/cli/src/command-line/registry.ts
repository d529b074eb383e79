/** Commands about registries of MCP servers. */
import { Option, type Command } from 'commander';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

const registryOption = [
  '--registry <url>',
  'address of a registry of MCP servers (default: OMNIBUS_REGISTRY, or the official one); OMNIBUS_REGISTRY_TOKEN is sent as its token',
] as const;

export function addSearch(program: Command): void {
  program
    .command('search')
    .description('search a registry for MCP servers by parts of their names')
    .argument('[words...]', 'parts of the name (default: all servers)')
    .option(...registryOption)
    .addOption(
      new Option('--limit <number>', 'most servers to list')
        .argParser((text) => Math.max(1, Math.trunc(Number(text)) || 1))
        .default(30),
    )
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/registry.ts')).searchRegistry));
}

/** Options of `add` for a server of a registry. */
export function withRegistry(add: Command): Command {
  return add
    .option(
      '--from <server>',
      'name of a server in a registry, with @VERSION if not the latest; or a file: a server.json, or a bundle (.mcpb)',
    )
    .option(...registryOption)
    .addOption(
      new Option('--use <way>', 'how to reach the server of --from (default: its address, else a package)').choices([
        'remote',
        'npm',
        'pypi',
        'oci',
        'nuget',
        'mcpb',
      ]),
    )
    .option('--set <pair...>', 'NAME=value, a value that the server of --from needs; otherwise it is asked for')
    .option('--no-pin', 'keep the tag of an image of --from, instead of writing its digest');
}
