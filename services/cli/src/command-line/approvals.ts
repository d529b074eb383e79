/** The commands about calls that wait for approvers, and about rights for a time. */
import type { Command } from 'commander';
import type { DecideOptions } from '../commands/approvals.ts';
import type { DecideGrantOptions } from '../commands/grants.ts';
import { loaded } from './loaded.ts';
import { asking, shared } from './shared-options.ts';

export function addApprovals(program: Command): void {
  const approvals = program.command('approvals').description('calls that wait for approvers (docs/how-to/policy.md)');
  const command = (words: string, description: string): Command => asking(approvals.command(words), description);

  command('list', 'show calls that wait')
    .option('--all', 'and those of the last day that do not wait any more')
    .action(loaded(async () => (await import('../commands/approvals.ts')).listApprovals));

  command('show', 'show one call with its arguments')
    .argument('<id>', 'as list shows it')
    .action(loaded(async () => (await import('../commands/approvals.ts')).showApproval));

  command('approve', 'show a call, and approve it after your confirmation: the gateway makes it once, exactly as shown')
    .argument('<id>', 'as list shows it')
    .option('-y, --yes', 'approve the shown call without a question')
    .option(
      '--for <time>',
      'also approve further calls of the tool by the same caller and client, such as 30m; the rule has the limit (`lasts`)',
    )
    .option(...shared.noInput)
    .action(async (id: string, options: DecideOptions) => {
      const { decideApproval } = await import('../commands/approvals.ts');
      await decideApproval(id, true, options);
    });

  command('withdraw', 'take back your approval of a call that waits for further approvers')
    .argument('<id>', 'as list shows it')
    .action(loaded(async () => (await import('../commands/approvals.ts')).withdrawVote));

  command('deny', 'refuse a call')
    .argument('<id>', 'id of the call, as "approvals list" shows it')
    .option('--reason <text>', 'the reason; the caller sees it')
    .action(async (id: string, options: DecideOptions) => {
      const { decideApproval } = await import('../commands/approvals.ts');
      await decideApproval(id, false, { ...options, yes: true });
    });
}

export function addGrants(program: Command): void {
  const grants = program
    .command('grants')
    .description('rights for a time: ask for one, approve and end them (docs/how-to/policy.md)');
  const command = (words: string, description: string): Command => asking(grants.command(words), description);

  command('list', 'show what waits for an approver and what is in force, and the grants that you may ask for')
    .option('--all', 'and those of the last day that are over')
    .action(loaded(async () => (await import('../commands/grants.ts')).listGrants));

  command('request', 'ask for a grant of the configuration (access.grants) for a time')
    .argument('<name>', 'the grant, as list shows it')
    .requiredOption('--for <time>', 'how long, such as 30m or 4h')
    .requiredOption('--reason <text>', 'why; the approver reads it, and it is on record')
    .action(loaded(async () => (await import('../commands/grants.ts')).requestGrant));

  command('approve', 'give a caller what it asked for')
    .argument('<id>', 'as list shows it')
    .option('--for <time>', 'a shorter time than the caller asked for')
    .action(async (id: string, options: DecideGrantOptions) => {
      const { decideGrant } = await import('../commands/grants.ts');
      await decideGrant(id, true, options);
    });

  command('deny', 'refuse a request')
    .argument('<id>', 'as list shows it')
    .option('--reason <text>', 'the reason; the caller sees it')
    .action(async (id: string, options: DecideGrantOptions) => {
      const { decideGrant } = await import('../commands/grants.ts');
      await decideGrant(id, false, options);
    });

  command('end', 'end a right before its time, in every process at once, or withdraw your request')
    .argument('<id>', 'as list shows it')
    .action(loaded(async () => (await import('../commands/grants.ts')).endGrant));
}
