/** The commands about API keys. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

export function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('make, list and revoke API keys of callers (docs/how-to/identity.md)');
  const command = (words: string, description: string): Command =>
    keys
      .command(words)
      .description(description)
      .option('-c, --config <file>', 'configuration that names the file of keys (default: omnibus.yaml in this folder)')
      .option('-f, --file <file>', 'the file of keys itself')
      .option(...shared.json);

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
    .action(loaded(async () => (await import('../commands/keys.ts')).createKey));

  command('list', 'list the API keys with their owners and states: valid, expired or revoked').action(
    loaded(async () => (await import('../commands/keys.ts')).listKeys),
  );

  command('revoke', 'revoke an API key')
    .argument('<id>', 'the part between the two "_" of the key, or the whole key')
    .action(loaded(async () => (await import('../commands/keys.ts')).revokeKey));
}
