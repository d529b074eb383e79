/** Commands that ask the admin port of a running gateway, shell completion, and the documents. */
import { Argument, type Command } from 'commander';
import { loaded } from './loaded.ts';
import { asking, shared } from './shared-options.ts';

export function addRunning(program: Command): void {
  const command = (name: string, description: string): Command => asking(program.command(name), description);

  command('status', 'show the processes of a running gateway and its servers').action(
    loaded(async () => (await import('../commands/status.ts')).status),
  );

  command('sessions', 'list the sessions of clients, of all processes')
    .option('--client <name>', 'only those of clients with this text in their names')
    .option('--endpoint <name>', 'only those of this server or profile; "" for the endpoint of all servers')
    .action(loaded(async () => (await import('../commands/running.ts')).listSessions));

  command('restart', 'reconnect to a server in every process, after its running calls have ended')
    .argument('<server>', 'name of the server')
    .action(loaded(async () => (await import('../commands/running.ts')).restart));

  command(
    'pause',
    'stop sending new requests to a server, in every process at once; running calls continue, and callers get the reason',
  )
    .argument('<server>', 'name of the server')
    .option('--for <time>', 'how long, such as 30m, 1h or 168h (default: until it is resumed)')
    .option('--because <text>', 'the reason; callers see it')
    .action(loaded(async () => (await import('../commands/running.ts')).pause));

  command('resume', 'end the pause of a server')
    .argument('<server>', 'name of the server')
    .action(loaded(async () => (await import('../commands/running.ts')).resume));
  addHelp(program);
}

/** Shell completion and the documents. */
function addHelp(program: Command): void {
  program
    .command('completion')
    .description('print a completion script for a shell: source <(omnibus completion bash)')
    .addArgument(new Argument('<shell>', 'shell of the script').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: string) => {
      const { printCompletion } = await import('../commands/completion.ts');
      await printCompletion(shell, program);
    });

  program
    .command('docs')
    .description('list the pages of the documents, or print one: omnibus docs timeouts')
    .argument('[topic]', 'name of the page')
    .option(...shared.json)
    .action(loaded(async () => (await import('../commands/docs.ts')).docs));
}
