/**
 * The entry of a configuration for a server of a registry. Everything in `server.json` comes from a stranger: it starts one of the known launchers, its
 * versions are exact, and its texts are texts, also if they look like references of the configuration.
 */
import { CommandProblem } from '@omnibus/client';
import { printable } from '@omnibus/protocol';
import type { Answers } from './answers.ts';
import { literal } from './literal.ts';
import type { Argument, Input, Remote, ServerDocument, ServerPackage } from './server-json.ts';

export type Entry = Record<string, unknown>;

/** How to reach the server: its address, or the kind of package. */
export type Way = 'remote' | 'npm' | 'pypi' | 'oci' | 'nuget' | 'mcpb';

interface Launcher {
  /** The programs that a publisher may choose; the first is the default. */
  readonly programs: readonly string[];
  /** Names of packages. Any other text may be an option of the launcher, an address or a folder. */
  readonly names: RegExp;
  readonly words: (of: ServerPackage, image: string) => readonly string[];
}

const launchers: Readonly<Record<Exclude<Way, 'remote' | 'mcpb'>, Launcher>> = {
  npm: {
    programs: ['npx'],
    names: /^(@[\w~-][\w.~-]*\/)?\w[\w.~-]*$/,
    words: (of) => ['-y', ...baseOf(of, 'registry.npmjs.org', '--registry'), `${of.identifier}@${versionOf(of)}`],
  },
  pypi: {
    programs: ['uvx'],
    names: /^\w[\w.-]*(\[[\w.,-]+\])?$/,
    words: (of) => [...baseOf(of, 'pypi.org', '--default-index'), `${of.identifier}@${versionOf(of)}`],
  },
  nuget: {
    programs: ['dnx'],
    names: /^\w[\w.-]*$/,
    words: (of) => [`${of.identifier}@${versionOf(of)}`, ...baseOf(of, 'api.nuget.org', '--source'), '--yes'],
  },
  oci: { programs: ['docker', 'podman'], names: /^[\w[][\w.:/@[\]-]*$/, words: (_of, image) => [image] },
};

/** The ways to reach a server, the safest first: an address runs no program here. */
export function waysOf({ packages, remotes }: ServerDocument): readonly Way[] {
  const kinds = new Set(packages.map(({ type }) => type));
  return [
    ...(remotes.length > 0 ? (['remote'] as const) : []),
    ...(['npm', 'pypi', 'oci', 'nuget', 'mcpb'] as const).filter((kind) => kinds.has(kind)),
  ];
}

/** @throws {CommandProblem} if there is no such way. */
export function wayTo(server: ServerDocument, wanted: Way | undefined): Way {
  const ways = waysOf(server);
  const way = wanted ?? ways[0];
  if (way === undefined || !ways.includes(way)) throw noWay(server, wanted, ways);
  return way;
}

/** @throws {CommandProblem} */
export async function entryFor(
  server: ServerDocument,
  way: Exclude<Way, 'mcpb'>,
  answers: Answers,
  pin: (image: string) => Promise<string>,
): Promise<Entry> {
  if (way === 'remote') return remoteEntry(preferred(server.remotes), answers);
  const of = server.packages.find(({ type }) => type === way) as ServerPackage;
  if (!launchers[way].names.test(of.identifier))
    throw new CommandProblem(
      'other',
      `${printable(JSON.stringify(of.identifier), 200)} is no name of a package (${way})`,
    );
  if (of.transport !== undefined && of.transport.type !== 'stdio')
    throw new CommandProblem(
      'other',
      `the ${way} package of ${printable(server.name, 200)} serves HTTP, and its port is not known before it runs`,
      { advice: 'Start it yourself, and add its address: omnibus add NAME http://127.0.0.1:PORT/mcp' },
    );
  return programEntry(way, of, answers, way === 'oci' ? await pin(imageOf(of)) : '');
}

function noWay(server: ServerDocument, wanted: Way | undefined, ways: readonly Way[]): CommandProblem {
  const name = printable(server.name, 200);
  if (wanted !== undefined && ways.length > 0)
    return new CommandProblem('usage', `${name} has no ${wanted}`, { advice: `It has: ${ways.join(', ')}.` });
  return new CommandProblem('other', `${name} names no address and no package that the gateway can start`);
}

/** Streamable HTTP before HTTP+SSE, which it replaces. */
function preferred(remotes: readonly Remote[]): Remote {
  return remotes.find(({ type }) => type === 'streamable-http') ?? (remotes[0] as Remote);
}

async function remoteEntry({ type, url, headers, variables }: Remote, answers: Answers): Promise<Entry> {
  const address = await answers.fill(url, variables);
  const sent = await valuesOf(headers, answers);
  return {
    url: address,
    ...(type === 'sse' ? { type: 'sse' } : {}),
    ...(sent.length === 0 ? {} : { headers: Object.fromEntries(sent) }),
  };
}

async function programEntry(
  way: Exclude<Way, 'remote' | 'mcpb'>,
  of: ServerPackage,
  answers: Answers,
  image: string,
): Promise<Entry> {
  const { programs, words } = launchers[way];
  const program = of.runtime ?? (programs[0] as string);
  if (!programs.includes(program))
    throw new CommandProblem(
      'other',
      `the publisher wants ${printable(JSON.stringify(program), 100)} to start a package of ${way}, and the gateway starts one with ${programs.join(' or ')}`,
    );
  const env = await valuesOf(of.environment, answers);
  const before = await argumentsOf(of.runtimeArguments, answers);
  const after = await argumentsOf(of.packageArguments, answers);
  const named = env.flatMap(([name]) => ['-e', name]);
  const start = words(of, image).map(literal);
  const args =
    way === 'oci'
      ? ['run', '-i', '--rm', ...named, ...before, ...start, ...after]
      : [...before, ...start, ...(way === 'nuget' && after.length > 0 ? ['--'] : []), ...after];
  return { command: program, args, ...(env.length === 0 ? {} : { env: Object.fromEntries(env) }) };
}

async function valuesOf(inputs: readonly Input[], answers: Answers): Promise<readonly (readonly [string, string])[]> {
  const found: (readonly [string, string])[] = [];
  for (const input of inputs) {
    const value = await answers.value(input);
    if (value !== undefined && input.name !== '') found.push([input.name, value]);
  }
  return found;
}

async function argumentsOf(given: readonly Argument[], answers: Answers): Promise<readonly string[]> {
  const words: string[] = [];
  for (const argument of given) {
    const isFlag =
      argument.isNamed && argument.value === undefined && argument.preset === undefined && !argument.isRequired;
    for (const value of await answers.values(argument))
      words.push(
        ...(argument.isNamed ? [literal(argument.name), ...(isFlag && value === '' ? [] : [value])] : [value]),
      );
  }
  return words;
}

/** An exact version. A range or a tag such as `latest` would run other code tomorrow. @throws {CommandProblem} */
function versionOf({ type, identifier, version }: ServerPackage): string {
  // For npm, 1.2 is a range.
  const exact = type === 'npm' ? /^\d+\.\d+\.\d+([-+][\w.+-]*)?$/ : /^\d[\w.+-]*$/;
  if (version !== undefined && exact.test(version) && !/(^|\.)x($|\.)/i.test(version)) return version;
  throw new CommandProblem(
    'other',
    `${printable(identifier, 200)} has no exact version in the registry (${printable(version ?? 'none', 100)})`,
    { advice: 'Choose a version yourself: omnibus add NAME -- npx -y PACKAGE@VERSION' },
  );
}

/** An option for a package that is not in the public registry of its kind. */
function baseOf({ baseUrl }: ServerPackage, host: string, option: string): readonly string[] {
  if (baseUrl === undefined || !URL.canParse(baseUrl) || new URL(baseUrl).hostname === host) return [];
  return [option, baseUrl];
}

/** The image of a package: with its registry, and with a tag or digest. */
function imageOf({ identifier, version, baseUrl }: ServerPackage): string {
  const host = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : undefined;
  const isWhole = /^[\w-]+(\.[\w-]+)+(:\d+)?\/|^localhost(:\d+)?\//.test(identifier) || host === undefined;
  const image = isWhole ? identifier : `${host}/${identifier}`;
  const isPinned = /@sha256:[a-f0-9]{64}$|:[\w][\w.-]{0,127}$/.test(image.slice(image.lastIndexOf('/')));
  return isPinned || version === undefined ? image : `${image}:${version}`;
}
