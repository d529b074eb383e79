/** The commands for the vault, which stores the tokens of users. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

export function addVault(program: Command): void {
  const vault = program
    .command('vault')
    .description(
      'keys and copies of the vault, in which the tokens of users for servers are stored (docs/how-to/credentials.md)',
    );
  const command = (words: string, description: string): Command =>
    vault
      .command(words)
      .description(description)
      .option(
        '-a, --admin <host:port>',
        'the admin address of a process, https://host:port where it speaks TLS (default: OMNIBUS_ADMIN or 127.0.0.1:7301, and the file of the vault where no gateway runs)',
      )
      .option(
        '-c, --config <file>',
        'configuration that names the file of the vault, where no gateway runs (default: omnibus.yaml in this folder)',
      )
      .option(...shared.signedIn)
      .option(...shared.tokens)
      .option(...shared.json);

  command('status', 'show the keys of the vault, how many entries are under each, and what no key can decrypt').action(
    loaded(async () => (await import('../commands/vault.ts')).showVault),
  );

  command(
    'rotate',
    'encrypt everything under the newest key of vault.keys, in all processes; a gateway that makes its keys itself makes a new one',
  )
    .option('-k, --key <name>', 'name of the key, where it is not the newest')
    .action(loaded(async () => (await import('../commands/vault.ts')).rotateVault));

  const copying = (words: string, description: string): Command =>
    vault
      .command(words)
      .description(description)
      .argument('<file>', 'the copy')
      .option(
        '-c, --config <file>',
        'configuration that says where the vault is: its file, or NATS with the login of the role backend (default: omnibus.yaml in this folder)',
      )
      .option(...shared.json);

  copying('backup', 'copy the contents of the vault to a file, still encrypted').action(
    loaded(async () => (await import('../commands/vault-copies.ts')).backUpVault),
  );

  copying('restore', 'restore missing entries of the vault from a copy; existing entries stay').action(
    loaded(async () => (await import('../commands/vault-copies.ts')).restoreVault),
  );
}
