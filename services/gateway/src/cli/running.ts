/** Commands about a gateway that runs, by its admin port; and the completion of shells. */
import type { Command } from 'commander';
import type { AskOptions } from '../commands/administer.ts';

export function addRunning(program: Command): void {
  const command = (name: string, description: string): Command => program.command(name).description(description)
    .option('-a, --admin <host:port>', 'the admin address of a process, https://host:port where it speaks TLS', '127.0.0.1:7301')
    .option('--signed-in <url>', 'as whoever is signed in to the gateway at this address (omnibus login URL --scope mcp:admin); else OMNIBUS_TOKEN')
    .option('--tokens <file>', 'where tokens are kept (default: tokens.json in the folder of your settings)')
    .option('--json', 'as JSON');

  command('sessions', 'list the sessions that a process holds')
    .action(async (options: AskOptions & { readonly json?: boolean }) => {
      const { listSessions } = await import('../commands/running.ts');
      await listSessions(options);
    });

  command('restart', 'connect to a server anew; calls that run there are finished first')
    .argument('<server>', 'its name')
    .action(async (server: string, options: AskOptions & { readonly json?: boolean }) => {
      const { restart } = await import('../commands/running.ts');
      await restart(server, options);
    });

  program.command('completion').description('print the completion of a shell: source <(omnibus completion bash)')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell: string) => {
      const { printCompletion } = await import('../commands/completion.ts');
      await printCompletion(shell);
    });
}
