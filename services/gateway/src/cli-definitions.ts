/** The commands about what servers say of themselves. */
import type { Command } from 'commander';
import type { ApproveOptions, DefinitionsOptions } from './commands/definitions.ts';

export function addDefinitions(program: Command): void {
  const definitions = program.command('definitions').description('what servers say of themselves, held against what was approved (docs/definitions.md)');
  const command = (words: string, description: string): Command => definitions.command(words).description(description)
    .option('-a, --admin <host:port>', 'the admin address of a process that talks to servers, https://host:port where it speaks TLS', '127.0.0.1:7301')
    .option('--signed-in <url>', 'as whoever is signed in to the gateway at this address (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN')
    .option('--tokens <file>', 'where tokens are kept (default: tokens.json in the folder of your settings)');

  command('status', 'show what is not as it was approved')
    .option('--json', 'as JSON')
    .action(async (options: DefinitionsOptions) => {
      const { listDefinitions } = await import('./commands/definitions.ts');
      await listDefinitions(options);
    });

  command('diff', 'show how it differs, and what of that is risky')
    .argument('<server>', 'its name in the configuration')
    .argument('[name...]', 'tools, prompts and resource templates by the server\'s own names, or "instructions" (default: all)')
    .option('--json', 'as JSON')
    .action(async (server: string, names: readonly string[], options: DefinitionsOptions) => {
      const { showDifferences } = await import('./commands/definitions.ts');
      await showDifferences(server, names, options);
    });

  command('approve', 'show how it differs, and approve it when you say so')
    .argument('<server>', 'its name in the configuration')
    .argument('[name...]', 'tools, prompts and resource templates by the server\'s own names, or "instructions" (default: all)')
    .option('-y, --yes', 'approve what is shown without being asked')
    .action(async (server: string, names: readonly string[], options: ApproveOptions) => {
      const { approveDefinitions } = await import('./commands/definitions.ts');
      await approveDefinitions(server, names, options);
    });
}
