/** Commands that ask the admin port of a running gateway, shell completion, and the documents. */
import { Argument, type Command } from 'commander';
import type { ApiOptions } from '../commands/api.ts';
import type { DocsOptions } from '../commands/docs.ts';
import type { PauseOptions, SessionsOptions } from '../commands/running.ts';
import { shared } from './shared-options.ts';

export function addRunning(program: Command): void {
  const command = (name: string, description: string): Command =>
    program
      .command(name)
      .description(description)
      .option(...shared.admin)
      .option(...shared.signedIn)
      .option(...shared.tokens)
      .option(...shared.json);

  command('status', 'show the processes of a running gateway and its servers').action(async (options: ApiOptions) => {
    const { status } = await import('../commands/status.ts');
    await status(options);
  });

  command('sessions', 'list the sessions of clients, of all processes')
    .option('--client <name>', 'only those of clients with this text in their names')
    .option('--endpoint <name>', 'only those of this server or profile; "" for the endpoint of all servers')
    .action(async (options: SessionsOptions) => {
      const { listSessions } = await import('../commands/running.ts');
      await listSessions(options);
    });

  command('restart', 'reconnect to a server in every process, after its running calls have ended')
    .argument('<server>', 'name of the server')
    .action(async (server: string, options: ApiOptions) => {
      const { restart } = await import('../commands/running.ts');
      await restart(server, options);
    });

  command(
    'pause',
    'stop sending new requests to a server, in every process at once; running calls continue, and callers get the reason',
  )
    .argument('<server>', 'name of the server')
    .option('--for <time>', 'how long, such as 30m, 1h or 168h (default: until it is resumed)')
    .option('--because <text>', 'the reason; callers see it')
    .action(async (server: string, options: PauseOptions) => {
      const { pause } = await import('../commands/running.ts');
      await pause(server, options);
    });

  command('resume', 'end the pause of a server')
    .argument('<server>', 'name of the server')
    .action(async (server: string, options: ApiOptions) => {
      const { resume } = await import('../commands/running.ts');
      await resume(server, options);
    });
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
    .action(async (topic: string | undefined, options: DocsOptions) => {
      const { docs } = await import('../commands/docs.ts');
      await docs(topic, options);
    });
}
