/** Commands that ask the admin port of a running gateway, and shell completion. */
import type { Command } from 'commander';
import type { AskOptions } from '../commands/administer.ts';

export function addRunning(program: Command): void {
  const command = (name: string, description: string): Command => program.command(name).description(description)
    .option('-a, --admin <host:port>', 'the admin address of a process, https://host:port where it speaks TLS', '127.0.0.1:7301')
    .option('--signed-in <url>', 'send the token that you signed in for at this gateway (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN is sent')
    .option('--tokens <file>', 'file with the tokens that you signed in for (default: tokens.json in the folder of your settings)')
    .option('--json', 'print JSON');

  command('sessions', 'list the sessions that a process holds')
    .action(async (options: AskOptions & { readonly json?: boolean }) => {
      const { listSessions } = await import('../commands/running.ts');
      await listSessions(options);
    });

  command('restart', 'reconnect to a server, after its running calls have ended')
    .argument('<server>', 'name of the server')
    .action(async (server: string, options: AskOptions & { readonly json?: boolean }) => {
      const { restart } = await import('../commands/running.ts');
      await restart(server, options);
    });

  program.command('completion').description('print a completion script for a shell: source <(omnibus completion bash)')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell: string) => {
      const { printCompletion } = await import('../commands/completion.ts');
      await printCompletion(shell);
    });
}
