/** Commands that use a gateway, or any MCP server, as a client. */
import type { Command } from 'commander';
import type { StartGateway } from '../gateway.ts';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

type MakeCommand = (words: string, description: string) => Command;

export function addUse(program: Command, start: StartGateway): void {
  const command = (words: string, description: string): Command =>
    program
      .command(words)
      .description(description)
      .option(
        '-u, --url <url>',
        'a gateway, or any MCP server over HTTP (default: OMNIBUS_URL, or http://127.0.0.1:7300/mcp)',
      )
      .option(
        '-c, --config <file>',
        'start the servers of this configuration for this command, instead of asking a running gateway',
      )
      .option(...shared.endpoint)
      .option(...shared.header)
      .option(...shared.tokens)
      .option(...shared.timeout)
      .option(...shared.noInput)
      .option(...shared.quiet)
      .option('--json', 'print the answer as JSON, exactly as it was received');
  addTools(command, start);
  addPrompts(command, start);
  addResources(command, start);
}

function addTools(command: MakeCommand, start: StartGateway): void {
  command('tools', 'list tools, one on each line')
    .argument('[pattern]', 'part of a name, or a glob such as "git*"')
    .option('--schema', 'also print the schema of the arguments')
    .action(loaded(async () => (await import('../commands/use.ts')).listTools, { start }));

  command('call', 'call a tool')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments...]', 'key=text, key:=JSON, key=@FILE, or all of them as one JSON object')
    .option('--args <json>', 'all arguments as JSON; "-" reads them from stdin')
    .option(
      '--answer <pair...>',
      'key=value, an answer to a question that the server asks during the call; model=TEXT for a model',
    )
    .option(...shared.save)
    .option('-y, --yes', 'do not ask before calling a tool that may destroy something')
    .action(loaded(async () => (await import('../commands/use.ts')).callTool, { start }));
}

function addPrompts(command: MakeCommand, start: StartGateway): void {
  command('prompts', 'list prompts, one on each line')
    .argument('[pattern]', 'part of a name, or a glob')
    .action(loaded(async () => (await import('../commands/use.ts')).listPrompts, { start }));

  command('get', 'get the messages of a prompt')
    .argument('<prompt>', 'name of the prompt')
    .argument('[arguments...]', 'key=text, or all of them as one JSON object')
    .option('--args <json>', 'all arguments as JSON; "-" reads them from stdin')
    .option(...shared.save)
    .action(loaded(async () => (await import('../commands/use.ts')).getPrompt, { start }));
}

function addResources(command: MakeCommand, start: StartGateway): void {
  command('resources', 'list resources and resource templates, one on each line')
    .argument('[pattern]', 'part of an address, or a glob')
    .action(loaded(async () => (await import('../commands/use.ts')).listResources, { start }));

  command('read', 'print the content of a resource')
    .argument('<uri>', 'URI of the resource')
    .option('--save <file>', 'write binary content to this file')
    .action(loaded(async () => (await import('../commands/use.ts')).readResource, { start }));

  command('complete', 'ask a server for completions of an argument, one on each line')
    .argument('<about>', 'the name of a prompt, or a resource template')
    .argument('<argument>', 'ARGUMENT=BEGINNING, such as language=py')
    .option('--context <pair...>', 'key=value, an argument that is known already')
    .action(loaded(async () => (await import('../commands/use.ts')).completeArgument, { start }));
}
