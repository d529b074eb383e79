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

/** The lines for the configuration, as YAML. A JSON text is one, too. */
export function addLines({ name, what }: NewServer): string {
  const [command = '', ...args] = shellWords(what);
  const entry = isServerAddress(what) ? { url: what.trim() } : { command, ...(args.length === 0 ? {} : { args }) };
  const options = Object.entries(entry).map(([option, value]) => `    ${option}: ${JSON.stringify(value)}\n`);
  return `mcpServers:\n  ${name}:\n${options.join('')}`;
}
