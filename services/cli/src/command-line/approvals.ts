/** The commands about calls that wait for approvers. */
import type { Command } from 'commander';
import type { DecideOptions } from '../commands/approvals.ts';
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
    .option(...shared.noInput)
    .action(async (id: string, options: DecideOptions) => {
      const { decideApproval } = await import('../commands/approvals.ts');
      await decideApproval(id, true, options);
    });

  command('deny', 'refuse a call')
    .argument('<id>', 'id of the call, as "approvals list" shows it')
    .option('--reason <text>', 'the reason; the caller sees it')
    .action(async (id: string, options: DecideOptions) => {
      const { decideApproval } = await import('../commands/approvals.ts');
      await decideApproval(id, false, { ...options, yes: true });
    });
}
