/** Commands that watch a running gateway through the API of its admin port. */
import { Option, type Command } from 'commander';
import type { StartGateway } from '../gateway.ts';
import { loaded } from './loaded.ts';
import { asking, shared } from './shared-options.ts';

export function addWatching(program: Command, start: StartGateway): void {
  const calls = program.command('calls').description('calls as they happen, and the last that failed');
  addList(calls);
  addCall(calls, start);

  asking(program.command('logs'), 'print the stderr output of a server, and the events of its connection')
    .argument('<server>', 'name of the server')
    .option('-f, --follow', 'print further lines as they come, until you stop it')
    .action(loaded(async () => (await import('../commands/logs.ts')).showLogs));

  asking(
    program.command('top'),
    'show servers and tools by how much they are called, and what they answered; "omnibus calls" also lists what the gateway refused',
  )
    .option('--once', 'print it once, also on a terminal')
    .action(loaded(async () => (await import('../commands/top.ts')).showTop));

  asking(program.command('tokens'), 'show what tools cost a model in each conversation, and what each measure saves')
    .option('--endpoint <name>', 'the endpoint of a server or profile (default: the one of all servers)')
    .option('--server <name>', 'the tools of this server, one by one')
    .action(loaded(async () => (await import('../commands/tokens.ts')).showTokens));
}

function addList(calls: Command): void {
  asking(
    calls.command('list', { isDefault: true }),
    'list the calls that were watched lately and that failed, or follow them as they happen',
  )
    .option(
      '-f, --follow',
      'print each call when it ends, until you stop the command; on a terminal, also list running calls below, with their state and duration',
    )
    .option('--running', 'with --follow, in a pipe: also print a line when a call begins, waits or resumes')
    .option('--server <name>', 'only calls of this server')
    .option('--tool <name>', 'only calls of this tool, by the name that its server gives it')
    .option('--client <name>', 'only calls of clients with this text in their names')
    .addOption(
      new Option('--outcome <outcome>', 'only calls with this outcome').choices([
        'result',
        'toolError',
        'error',
        'fault',
        'cancelled',
        'timeout',
      ]),
    )
    .option('--min-ms <ms>', 'only calls that took so many milliseconds at least')
    .action(loaded(async () => (await import('../commands/calls.ts')).listCalls));
}

function addCall(calls: Command, start: StartGateway): void {
  asking(calls.command('show'), 'show the way of one call through all processes')
    .argument('<tag>', 'tag of the call, or its beginning')
    .action(loaded(async () => (await import('../commands/calls.ts')).showCall));
  asking(calls.command('replay'), 'make a call again, at the same or another server')
    .argument('<tag>', 'tag of the call, or its beginning')
    .option('--server <name>', 'another server, which offers a tool of the same name')
    .option('--args <json>', 'all arguments as JSON; default: those of the call, if they are known')
    .option(
      '-u, --url <url>',
      'the gateway that is called, without an endpoint, since that of the call is added (default: OMNIBUS_URL, or http://127.0.0.1:7300/mcp)',
    )
    .option('-H, --header <line...>', 'an HTTP header that is sent with every request to it, "Name: value"')
    .option(...shared.timeout)
    .option(
      '--answer <pair...>',
      'key=value, an answer to a question that the server asks during the call; model=TEXT for a model',
    )
    .option(...shared.save)
    .option('-y, --yes', 'do not ask before calling a tool that may destroy something')
    .option(...shared.noInput)
    .option(...shared.quiet)
    .action(loaded(async () => (await import('../commands/replay.ts')).replayCall, { start }));
}
