/** Reads the file of an MCP client so that its servers can be imported: each as an entry of Omnibus, with remarks about everything that could not be taken over. */
import { readDocument } from '../document.ts';
import { durationProblem } from '../duration.ts';
import { formatPath, type Path } from '../problem.ts';
import { configSchema } from '../schema.ts';
import { adopt, type RemarkAt } from './adopt.ts';
import { isMap, recognize, type Values } from './recognize.ts';
import type { Client } from './table.ts';

export interface ClientFile {
  readonly client: Client;
  /** By the names they have here. References in them are kept. */
  readonly servers: Readonly<Record<string, Values>>;
  /** What is not taken, or means nothing here; `path` is that of the client's file. */
  readonly remarks: readonly { readonly path: string; readonly line: number; readonly text: string }[];
}

const durations = ['timeout', 'maxTime', 'connectTimeout', 'rereadLists'];

/** @throws {Error} in words, when it cannot be read or is no client's. */
export function readClientFile(file: string, text: string): ClientFile {
  const read = readDocument(text, file);
  if ('faults' in read)
    throw new Error(read.faults.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`).join('\n'));
  const client = recognize(file, read.format, read.value, (option) => Object.hasOwn(configSchema.shape, option));
  if (client === undefined)
    throw new Error('it is not the file of a known client; a configuration of Omnibus needs no import');
  const { hasServers, value, notes, losses, origin } = adopt(client, file, read.value);
  if (!hasServers)
    throw new Error(
      `it is a file of ${client.name}, which keeps its servers under ${client.keys[0]?.join('.') ?? 'mcpServers'}, and it has none there`,
    );
  const remarks: RemarkAt[] = [...losses, ...notes];
  const servers = Object.entries(value.mcpServers).flatMap(([name, entry]) => {
    const say = (path: Path, words: string): void =>
      void remarks.push({ path: origin(['mcpServers', name, ...path]), text: words });
    const server = isMap(entry) ? takeOptions(entry, say) : undefined;
    if (server === undefined) return [];
    if (server['command'] !== undefined || server['url'] !== undefined) return [[name, server] as const];
    say([], 'it has neither "command" nor "url"; left out');
    return [];
  });
  const places = remarks.map(({ path, text: words }) => ({
    path: formatPath(path),
    line: read.placeOf(path).line,
    text: words,
  }));
  return { client, servers: Object.fromEntries(servers), remarks: places };
}

/** The options of an entry that Omnibus has too. Undefined for a server that is built into the client and runs nowhere else. */
function takeOptions(entry: Values, say: (path: Path, text: string) => void): Values | undefined {
  if (entry['type'] === 'builtin' || entry['type'] === 'platform' || entry['type'] === 'frontend') return undefined;
  return Object.fromEntries(
    Object.entries(entry).filter(([option, value]) => {
      if (!Object.hasOwn(serverOptions, option)) {
        say([option], 'an unknown option; left out');
        return false;
      }
      const problem = durations.includes(option) ? durationProblem(value) : undefined;
      if (problem !== undefined) say([option], `${problem}; left out`);
      return (
        problem === undefined &&
        !(option === 'disabled' && value === false) &&
        !(isMap(value) && Object.keys(value).length === 0) &&
        !(Array.isArray(value) && value.length === 0 && option !== 'includeTools')
      );
    }),
  );
}

const serverOptions: Readonly<Record<string, unknown>> = configSchema.shape.mcpServers.unwrap().valueType.shape;
