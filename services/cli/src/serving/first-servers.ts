/** The first servers of a folder that has no configuration yet: those of MCP clients, or one that the user names. */
import { isToken } from '@omnibus/protocol';
import { isServerAddress, shellWords } from '@omnibus/protocol/shell-words';
import type { Starting } from '../gateway.ts';
import { clientFiles, importServers } from '../commands/import.ts';
import { addServer } from '../commands/servers.ts';
import { notice } from '../output/outcome.ts';
import { ask, confirm } from '../output/terminal.ts';

/**
 * Asks at a terminal, and writes the configuration as `omnibus import` or `omnibus add` does, which print problems. @throws {CommandProblem} when the
 * user closes the terminal.
 */
export async function askForServers({ start }: Starting): Promise<void> {
  notice('omnibus: there is no configuration in this folder yet');
  const files = clientFiles();
  if (files.length > 0) {
    notice(`MCP clients have servers in\n${files.map((file) => `  ${file}`).join('\n')}`);
    if (await confirm('Take them over (omnibus import)?', true)) return importServers([], {});
  }
  const line = await ask('A server to begin with: a program with its arguments, or an address. Empty for none:');
  const words = isServerAddress(line) ? [line] : shellWords(line);
  if (words.length === 0) return;
  let name = '';
  while (!isToken(name)) name = await ask('Its name, of letters, digits, "_" and "-":', nameFor(words));
  await addServer(name, words, { start });
}

/** A name for a server: the first part of its host, or the package or file that its program starts. */
export function nameFor([program = '', ...args]: readonly string[]): string {
  const told = isServerAddress(program)
    ? new URL(program).hostname.replace(/^(?:www|mcp|api)\./, '').split('.')[0]
    : (args.find((word) => !word.startsWith('-')) ?? program)
        .replace(/(?<=.)@[^@/]*$/, '')
        .split(/[/\\]/)
        .at(-1)
        ?.replaceAll(/^(?:mcp-)?server-|^mcp-|-mcp$|\.\w+$/g, '');
  const name = told?.replaceAll(/[^\w-]/g, '-').slice(0, 64) ?? '';
  return name === '' ? 'server' : name;
}
