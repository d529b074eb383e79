/** The command and the lines that add a server to the configuration. */
import { shellWord } from './copies.ts';

export interface NewServer {
  readonly name: string;
  /** An address, or a program with its arguments as they are typed in a shell. */
  readonly what: string;
}

const isAddress = (what: string): boolean => /^[a-z][\w+.-]*:\/\/\S*$/i.test(what.trim());

/** The words of a line as a shell reads them, without variables: quotes group, also inside a word, and nothing else is special. A quote that does not end is a character. */
export function wordsOf(line: string): readonly string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|\S)+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ''),
  );
}

export function addCommand({ name, what }: NewServer): string {
  return isAddress(what)
    ? `omnibus add ${shellWord(name)} ${shellWord(what.trim())}`
    : `omnibus add ${shellWord(name)} -- ${wordsOf(what).map(shellWord).join(' ')}`;
}

/** The lines for the configuration, as YAML. A JSON text is one, too. */
export function addLines({ name, what }: NewServer): string {
  const [command = '', ...args] = wordsOf(what);
  const entry = isAddress(what) ? { url: what.trim() } : { command, ...(args.length === 0 ? {} : { args }) };
  const options = Object.entries(entry).map(([option, value]) => `    ${option}: ${JSON.stringify(value)}\n`);
  return `mcpServers:\n  ${name}:\n${options.join('')}`;
}
