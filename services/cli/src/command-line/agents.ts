/** The commands about agents: programs that get tokens of the gateway's own authorization server for themselves. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { asking } from './shared-options.ts';

export function addAgents(program: Command): void {
  const agents = program
    .command('agents')
    .description(
      'programs with an identity of their own: add, show, block, rotate and remove them (docs/how-to/agents.md)',
    );
  const command = (words: string, description: string): Command => asking(agents.command(words), description);
  const named = (words: string, description: string): Command =>
    command(words, description).argument('<name>', 'name of the agent');

  named('add', 'add an agent, and print its client id and its secret; the secret is never shown again')
    .requiredOption('-o, --owner <name>', 'the person or team that answers for the agent')
    .option('-t, --tenant <name>', 'tenant of the agent')
    .option('-g, --group <name...>', 'groups of the agent')
    .option('-s, --scope <name...>', 'scopes that its tokens may have besides those that every token has')
    .option(
      '-e, --endpoint <name...>',
      'servers and profiles that it may use, "/mcp" for the endpoint of all servers (default: every endpoint)',
    )
    .option('-x, --expires <when>', 'when the agent expires: days such as 90d, or a date (default: never)')
    .option('-k, --key <file>', 'its public key, JWK or PEM: it signs assertions and has no secret (private_key_jwt)')
    .option('-w, --workload', 'it gets tokens for assertions of a workload (auth.server.workloads), and has no secret')
    .option('-n, --note <text>', 'a note for people')
    .action(loaded(async () => (await import('../commands/agents.ts')).addAgent));

  command('list', 'list the agents with their owners, states and last uses').action(
    loaded(async () => (await import('../commands/agents.ts')).listAgents),
  );

  named('show', 'show one agent').action(loaded(async () => (await import('../commands/agents.ts')).showAgent));

  named('block', 'block an agent in every process at once: its running calls, sessions and streams end')
    .option('--for <time>', 'how long, such as 30m, 1h or 168h (default: until it is unblocked)')
    .option('--because <text>', 'the reason; the agent sees it')
    .action(loaded(async () => (await import('../commands/agents.ts')).blockAgent));

  named('unblock', 'end the block of an agent').action(
    loaded(async () => (await import('../commands/agents.ts')).unblockAgent),
  );

  named('rotate', 'give an agent another secret and print it; the old one and all tokens end at once')
    .option('--keep <time>', 'how long the old secret or key stays valid, such as 1h or 24h; tokens stay too')
    .option('-k, --key <file>', 'the next public key of an agent that signs assertions, JWK or PEM')
    .action(loaded(async () => (await import('../commands/agents.ts')).rotateAgent));

  named('remove', 'remove an agent; its tokens end at once').action(
    loaded(async () => (await import('../commands/agents.ts')).removeAgent),
  );
}
