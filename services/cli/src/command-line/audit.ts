/** The commands that read audit records. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

export function addAudit(program: Command): void {
  const audit = program.command('audit').description('verify and search audit records (docs/how-to/audit.md)');
  const command = (name: string, description: string): Command =>
    audit
      .command(name)
      .description(description)
      .argument('[place...]', 'files and folders of records (default: those of the configuration)')
      .option('-c, --config <file>', 'configuration that says where records are (default: omnibus.yaml in this folder)')
      .option(
        '--bus [role]',
        'read the records in NATS instead of files; as the role of the NATS user in the configuration',
      )
      .option(...shared.json);

  command('verify', 'check whether records were changed, and whether any are missing')
    .option(
      '--checkpoints <file...>',
      'files of checkpoints from the second place (default: the file that --config names)',
    )
    .option(
      '--key <file>',
      'file with the key that signed the checkpoints; for an Ed25519 key the public part is enough',
    )
    .action(loaded(async () => (await import('../commands/audit.ts')).verify));

  command('search', 'find records; the latest come last')
    .option('--who <name>', 'a user, principal, client, key or address; "abc*" finds all that begin with abc')
    .option('--tool <name>', 'a tool or prompt')
    .option('--server <name>', 'a server')
    .option('--event <name>', 'name of the event: mcp.call, auth.refused, admin.*')
    .option('--outcome <outcome>', 'ok, tool_error, fault, denied, cancelled, unknown or started')
    .option('--session <key>', 'a session, by the digest that records have as mcp.session.id')
    .option('--since <when>', 'only records since then: 15m, 2h or 7d ago, or a date')
    .option('--until <when>', 'only records before then, written like --since')
    .option('-n, --limit <count>', 'at most so many, the latest; up to 100000', '1000')
    .action(loaded(async () => (await import('../commands/audit.ts')).search));
}
