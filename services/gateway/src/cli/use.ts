/** Commands that use what a gateway offers. */
import type { Command } from 'commander';
import type { CallOptions, UseOptions } from '../commands/use.ts';

export function addUse(program: Command): void {
  const command = (words: string, description: string): Command => program.command(words).description(description)
    .option('-u, --url <url>', 'a gateway, or any MCP server over HTTP (default: OMNIBUS_URL, or http://127.0.0.1:7300/mcp)')
    .option('-c, --config <file>', 'start the servers of this configuration here, instead of asking a gateway that runs')
    .option('-e, --endpoint <name>', 'a server or profile instead of all servers')
    .option('-H, --header <line...>', 'an HTTP header to send, "Name: value" (default: who is signed in, or OMNIBUS_TOKEN)')
    .option('--tokens <file>', 'where tokens are kept (default: tokens.json in the folder of your settings)')
    .option('--timeout <time>', 'how long to wait: 30s, 5m or a number of seconds (default: 10m)')
    .option('--no-input', 'ask nothing, even on a terminal')
    .option('-q, --quiet', 'say nothing but the answer')
    .option('--json', 'the answer as JSON, exactly as it came');

  command('tools', 'list tools, a line each')
    .argument('[pattern]', 'part of a name, or a glob such as "git*"')
    .option('--schema', 'with the schema of their arguments')
    .action(async (pattern: string | undefined, options: UseOptions & { readonly schema?: boolean }) => {
      const { listTools } = await import('../commands/use.ts');
      await listTools(pattern, options);
    });

  command('call', 'call a tool')
    .argument('<tool>', 'its name')
    .argument('[arguments...]', 'key=text, key:=JSON, key=@FILE, or all of them as one JSON object')
    .option('--args <json>', 'all arguments as JSON; "-" reads them from stdin')
    .option('--answer <pair...>', 'key=value, an answer to what the server asks meanwhile')
    .option('--save <file>', 'write images, audio and other bytes there')
    .option('-y, --yes', 'do not ask before calling a tool that may destroy something')
    .action(async (name: string, words: readonly string[], options: CallOptions) => {
      const { callTool } = await import('../commands/use.ts');
      await callTool(name, words, options);
    });

  command('prompts', 'list prompts, a line each')
    .argument('[pattern]', 'part of a name, or a glob')
    .action(async (pattern: string | undefined, options: UseOptions) => {
      const { listPrompts } = await import('../commands/use.ts');
      await listPrompts(pattern, options);
    });

  command('get', 'get the messages of a prompt')
    .argument('<prompt>', 'its name')
    .argument('[arguments...]', 'key=text, or all of them as one JSON object')
    .option('--args <json>', 'all arguments as JSON; "-" reads them from stdin')
    .option('--save <file>', 'write images, audio and other bytes there')
    .action(async (name: string, words: readonly string[], options: CallOptions) => {
      const { getPrompt } = await import('../commands/use.ts');
      await getPrompt(name, words, options);
    });

  command('resources', 'list resources and their templates, a line each')
    .argument('[pattern]', 'part of an address, or a glob')
    .action(async (pattern: string | undefined, options: UseOptions) => {
      const { listResources } = await import('../commands/use.ts');
      await listResources(pattern, options);
    });

  command('read', 'print what a resource holds')
    .argument('<uri>', 'its address')
    .option('--save <file>', 'write it there when it is no text')
    .action(async (uri: string, options: CallOptions) => {
      const { readResource } = await import('../commands/use.ts');
      await readResource(uri, options);
    });

  command('complete', 'ask a server how an argument could go on, a value each line')
    .argument('<about>', 'the name of a prompt, or the template of a resource')
    .argument('<argument>', 'ARGUMENT=BEGINNING')
    .option('--context <pair...>', 'key=value, arguments that are known already')
    .action(async (about: string, word: string, options: UseOptions & { readonly context?: readonly string[] }) => {
      const { completeArgument } = await import('../commands/use.ts');
      await completeArgument(about, word, options);
    });
}
