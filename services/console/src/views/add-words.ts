/** The command and the lines that add a server to the configuration. */
import { isServerAddress, shellWords } from '@omnibus/protocol/shell-words';
import { shellWord } from './copies.ts';

export interface NewServer {
  readonly name: string;
  /** An address, or a program with its arguments as they are typed in a shell. */
  readonly what: string;
}

export function addCommand({ name, what }: NewServer): string {
  return isServerAddress(what)
    ? `omnibus add ${shellWord(name)} ${shellWord(what.trim())}`
    : `omnibus add ${shellWord(name)} -- ${shellWords(what).map(shellWord).join(' ')}`;
}

/** The options of the server, as YAML. A JSON text is one, too. */
export function entryLines({ what }: Pick<NewServer, 'what'>): string {
  const [command = '', ...args] = shellWords(what);
  const entry = isServerAddress(what) ? { url: what.trim() } : { command, ...(args.length === 0 ? {} : { args }) };
  return Object.entries(entry)
    .map(([option, value]) => `${option}: ${JSON.stringify(value)}\n`)
    .join('');
}

/** The lines for the configuration. */
export function addLines(server: NewServer): string {
  return `mcpServers:\n  ${server.name}:\n${entryLines(server).replaceAll(/^(?=.)/gm, '    ')}`;
}
