/** The commands that read what is on record. */
import type { Command } from 'commander';
import type { SearchOptions, VerifyOptions } from './commands/audit.ts';

export function addAudit(program: Command): void {
  const audit = program.command('audit').description('what is on record (docs/audit.md)');
  const command = (name: string, description: string): Command => audit.command(name).description(description)
    .argument('[place...]', 'files and folders of records (default: those of the configuration)')
    .option('-c, --config <file>', 'configuration that says where records are (default: omnibus.yaml here)')
    .option('--bus [role]', 'what is in NATS instead of files; the role whose user the configuration has there')
    .option('--json', 'as JSON');

  command('verify', 'say whether records are as they were written, and whether any are missing')
    .option('--checkpoints <file...>', 'where the chains stood, as it was written to a second place (default: that of --config)')
    .option('--key <file>', 'the key that signed them; of an Ed25519 key, the public part is enough')
    .action(async (places: string[], options: VerifyOptions) => {
      const { verify } = await import('./commands/audit.ts');
      await verify(places, options);
    });

  command('search', 'find records; the latest come last')
    .option('--who <name>', 'a user, principal, client, key or address; what ends in * begins so')
    .option('--tool <name>', 'a tool or prompt')
    .option('--server <name>', 'a server')
    .option('--event <name>', 'what it is: mcp.call, auth.refused, admin.*')
    .option('--outcome <outcome>', 'ok, tool_error, fault, denied, cancelled, unknown or started')
    .option('--session <key>', 'a session, by what records call it')
    .option('--since <when>', '15m, 2h, 7d ago, or a date')
    .option('--until <when>', 'the same')
    .option('-n, --limit <count>', 'as many, the latest', '1000')
    .action(async (places: string[], options: SearchOptions) => {
      const { search } = await import('./commands/audit.ts');
      await search(places, options);
    });
}
