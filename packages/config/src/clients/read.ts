/** Reads the file of an MCP client so that its servers can be imported: each as an entry of Omnibus, with remarks about each part that could not be imported. */
import { readDocument, type ReadDocument } from '../document.ts';
import { durationProblem } from '../duration.ts';
import { loadConfig } from '../load.ts';
import { nearestOf } from '../nearest.ts';
import { otherPlace } from '../nesting.ts';
import { formatPath, formatProblem, type Path } from '../problem.ts';
import { configSchema } from '../checked-schema.ts';
import { isMap, type Values } from '../values.ts';
import { adopt } from './adopt.ts';
import type { RemarkAt } from './beside.ts';
import { recognize } from './recognize.ts';
import type { Client } from './client.ts';

export interface ClientFile {
  readonly client: Client;
  /** By the names they have here. References in them stay. */
  readonly servers: Readonly<Record<string, Values>>;
  /** The path in the client's file of each of them, by the same names. */
  readonly places: Readonly<Record<string, Path>>;
  /** Options not imported, or without meaning here; `path` is that of the client's file. */
  readonly remarks: readonly { readonly path: string; readonly line: number; readonly text: string }[];
}

const durations = ['timeout', 'maxTime', 'connectTimeout', 'rereadLists'];
const isOwn = (option: string): boolean => Object.hasOwn(configSchema.shape, option);

/** The owner of a file: a program, or Omnibus (undefined). `problems` says why it cannot be read, each with its place. */
export function ownerOf(
  file: string,
  text: string,
): { readonly client: Client | undefined; readonly read: ReadDocument } | { readonly problems: readonly string[] } {
  const read = readDocument(text, file);
  return 'faults' in read
    ? { problems: read.faults.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`) }
    : { client: recognize(file, read.format, read.value, isOwn), read };
}

/**
 * @param into the folder of the configuration that takes the servers over, from which its paths start.
 * @throws {Error} in words, when it cannot be read or is no client's.
 */
export function readClientFile(file: string, text: string, into?: string): ClientFile {
  const owner = ownerOf(file, text);
  if ('problems' in owner) throw new Error(owner.problems.join('\n'));
  const { client, read } = owner;
  if (client === undefined) throw new Error(notAClients(file, text, read));
  const instead = `this is a file of ${client.name}, which cannot be taken over: ${client.instead ?? ''}`;
  if (client.instead !== undefined && client.keys.length === 0) throw new Error(instead);
  const { hasServers, value, notes, losses, unusable, origin } = adopt(client, file, read.value, {
    ...(into === undefined ? {} : { into }),
    replacesBridges: true,
  });
  if (!hasServers)
    throw new Error(
      client.instead !== undefined
        ? instead
        : `it is a file of ${client.name}, which keeps its servers under ${client.keys[0]?.join('.') ?? 'mcpServers'}, and it has none there`,
    );
  const remarks: RemarkAt[] = [...losses, ...notes];
  const servers = Object.entries(value.mcpServers).flatMap(([name, entry]) => {
    const say = (path: Path, words: string): void =>
      void remarks.push({ path: origin(['mcpServers', name, ...path]), text: words });
    const server = isMap(entry) ? takeOptions(entry, say) : undefined;
    if (server === undefined) return [];
    if (unusable.has(name)) {
      say([], 'left out: it would be another server without what is named above');
      return [];
    }
    if (['command', 'url', 'openapi'].every((option) => server[option] === undefined)) {
      say([], 'it has neither "command" nor "url"; left out');
      return [];
    }
    const fitting = withoutMistakes(name, server, say);
    return fitting === undefined ? [] : [[name, fitting] as const];
  });
  return {
    client,
    servers: Object.fromEntries(servers),
    places: Object.fromEntries(servers.map(([name]) => [name, origin(['mcpServers', name])])),
    remarks: remarks.map(({ path, text: words }) => ({
      path: formatPath(path),
      line: read.placeOf(path).line,
      text: words,
    })),
  };
}

/** Why a file cannot be imported that no known program has. A configuration of Omnibus is answered with its mistakes, since it may be a client's that is mistyped. */
function notAClients(file: string, text: string, read: ReadDocument): string {
  const { value } = read;
  const loaded = loadConfig({ file, text, env: {}, readFile: () => '' });
  const mistakes = 'problems' in loaded ? (loaded.mistakes ?? loaded.problems) : [];
  if (value !== null && value !== undefined && !isMap(value)) return mistakes.map(formatProblem).join('\n');
  const keys = isMap(value) ? Object.keys(value) : [];
  if (keys.some((option) => isOwn(option))) {
    const words = 'a configuration of Omnibus needs no import';
    return mistakes.length === 0
      ? `it is not the file of a known client; ${words}: omnibus serve --config ${file}`
      : `it is not the file of a known client; ${words}, and this one has mistakes:\n${mistakes.map(formatProblem).join('\n')}`;
  }
  if (isMap(value) && keys.some((key) => otherPlace(key, value[key], []) !== undefined))
    return mistakes.map(formatProblem).join('\n');
  const mistyped = keys.find((key) => nearestOf(key, ['mcpServers']) !== undefined);
  if (mistyped === undefined)
    return 'it is not the file of a known program: write its servers under `mcpServers`, each with `command` or `url`';
  const { line, column } = read.placeOf([mistyped]);
  return `${file}:${line}:${column}: ${mistyped}: unknown option; did you mean "mcpServers"?`;
}

/** The options of an entry that Omnibus has too. */
function takeOptions(entry: Values, say: (path: Path, text: string) => void): Values {
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

/** Options without which the entry would be another server. */
const essential: ReadonlySet<unknown> = new Set([
  'command',
  'args',
  'url',
  'openapi',
  'cwd',
  'includeTools',
  'excludeTools',
]);

/** The entry without the options, headers and variables that would be mistakes in a configuration. @returns undefined where nothing is left of it. */
function withoutMistakes(name: string, given: Values, say: (path: Path, text: string) => void): Values | undefined {
  let server = given;
  for (;;) {
    const loaded = loadConfig({
      file: 'omnibus.json',
      text: JSON.stringify({ mcpServers: { [name]: server } }),
      env: {},
      readFile: () => '',
    });
    const [problem] = 'problems' in loaded ? (loaded.mistakes ?? loaded.problems) : [];
    if (problem === undefined) return server;
    const [option = '', member] = problem.path.slice(`mcpServers.${name}.`.length).split(/[.[](.*)/);
    if (essential.has(option) || !Object.hasOwn(server, option)) {
      say(option === '' ? [] : [option], `${problem.message}; the server is left out`);
      return undefined;
    }
    const { [option]: value, ...rest } = server;
    const isMember =
      (option === 'env' || option === 'headers') && isMap(value) && member !== undefined && member in value;
    say(isMember ? [option, member] : [option], `${problem.message}; left out`);
    server = isMember
      ? { ...rest, [option]: Object.fromEntries(Object.entries(value).filter(([key]) => key !== member)) }
      : rest;
  }
}

const serverOptions: Readonly<Record<string, unknown>> = configSchema.shape.mcpServers.unwrap().valueType.shape;
