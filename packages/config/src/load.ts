/** From text to a complete configuration, or to the list of everything that is wrong with it. */
import { adopt } from './clients/adopt.ts';
import { isMap, recognize } from './clients/recognize.ts';
import type { Client } from './clients/table.ts';
import { readDocument, type ReadDocument } from './document.ts';
import { migrateConfig } from './migrate.ts';
import { profileNotes } from './profile-notes.ts';
import { byPlace, formatPath, type ConfigProblem, type Path } from './problem.ts';
import { type ReferenceSource } from './references.ts';
import { configSchema, ignoredServerKeys, type Config } from './schema.ts';
import { ServerFaults } from './server-faults.ts';
import { reportIssue } from './words.ts';

export interface ConfigSource extends ReferenceSource {
  /** Shown in problems. Its name tells whose it is. */
  readonly file: string;
  /** YAML or JSON; TOML where the name of the file says so. */
  readonly text: string;
  /** Leaves out what servers are sent as `headers` or given as `env`: secrets are for the process that connects to them, and are not looked up elsewhere. */
  readonly withoutServerSecrets?: boolean;
}

/** A mistake that is found out later, where it stands in the file. */
export type ProblemAt = (path: Path, message: string) => ConfigProblem;

export interface LoadedConfig {
  readonly config: Config;
  /** What keeps single servers from being connected to; the others are. */
  readonly faults: readonly ConfigProblem[];
  /** What was taken otherwise than whoever wrote it may think. */
  readonly notes: readonly ConfigProblem[];
  /** The program whose file it is, when it is not one of Omnibus. */
  readonly client: Client | undefined;
  readonly problemAt: ProblemAt;
}

export type LoadResult = LoadedConfig | { readonly problems: readonly ConfigProblem[] };

type Report = (path: Path, message: string) => void;

export function loadConfig(source: ConfigSource): LoadResult {
  const { file, text } = source;
  const read = readDocument(text, file);
  if ('faults' in read) return { problems: read.faults.map((fault) => ({ file, path: '', ...fault })) };
  const client = recognize(file, read.format, read.value, (option) => Object.hasOwn(configSchema.shape, option));
  return client === undefined ? loadOwn(source, read) : loadOf(client, source, read);
}

/** A file of Omnibus. */
function loadOwn(source: ConfigSource, before: ReadDocument): LoadResult {
  const { file } = source;
  const { text, outdated } = migrateConfig(source.text);
  const problems: ConfigProblem[] = [];
  const now = outdated.length === 0 ? before : readDocument(text, file);
  const read = 'faults' in now ? before : now;
  for (const { path, instead, ...place } of outdated) problems.push({ file, ...place, path: formatPath(path), message: `write ${instead}; \`omnibus migrate ${file} --write\` does it` });
  return finish(source, read.value ?? {}, { placeOf: (path) => read.placeOf(path), problems, notes: [], client: undefined });
}

/** A client's file as it is. What would be another server than the client has is refused; nothing is dropped in silence. */
function loadOf(client: Client, source: ConfigSource, read: ReadDocument): LoadResult {
  const { file } = source;
  const { hasServers, value, notes, losses, origin } = adopt(client, file, read.value);
  const at = (path: Path, message: string): ConfigProblem => ({ file, ...read.placeOf(path), path: formatPath(path), message });
  const problems = losses.map(({ path, text }) => at(path, `${text}; \`omnibus import ${file}\` takes what else is there`));
  if (!hasServers) problems.push(at([], `this is a file of ${client.name}, which keeps its servers under ${client.keys[0]?.join('.') ?? 'mcpServers'}, and there is none`));
  if (client.id === 'client' && isMap(read.value)) {
    for (const option of Object.keys(read.value).filter((each) => !['mcpServers', 'inputs', '$schema'].includes(each))) {
      reportIssue({ code: 'unrecognized_keys', keys: [option], path: [], message: '', input: read.value }, read.value, (path, message) => void problems.push(at(path, message)));
    }
  }
  return finish(source, value, { placeOf: (path) => read.placeOf(origin(path)), pathOf: origin, problems, notes: notes.map(({ path, text }) => at(path, text)), client });
}

interface Found {
  readonly placeOf: (path: Path) => { readonly line: number; readonly column: number };
  /** Where in the file stands what is at a path here. */
  readonly pathOf?: (path: Path) => Path;
  readonly problems: ConfigProblem[];
  readonly notes: ConfigProblem[];
  readonly client: Client | undefined;
}

/** References, rules and the other checks, of a value in our words. */
function finish(source: ConfigSource, raw: unknown, { placeOf, pathOf = (path) => path, problems, notes, client }: Found): LoadResult {
  const { file } = source;
  const at = (path: Path, message: string): ConfigProblem => ({ file, ...placeOf(path), path: formatPath(pathOf(path)), message });
  const into = (list: ConfigProblem[]): Report => (path, message) => void list.push(at(path, message));
  const report = into(problems);
  const faults: ConfigProblem[] = [];
  const servers = new ServerFaults(source, report, into(faults));
  const value = servers.substitute(withoutServerKeys(raw, source.withoutServerSecrets === true ? secretServerKeys : [], into(notes)));
  const parsed = configSchema.safeParse(value);
  if (!parsed.success) for (const issue of parsed.error.issues) reportIssue(issue, value, report);
  if (problems.length > 0 || !parsed.success) return { problems: withoutConsequences([...problems, ...faults]).toSorted(byPlace) };
  profileNotes(parsed.data, into(notes));
  return { config: { ...parsed.data, mcpServers: servers.mark(parsed.data.mcpServers) }, faults: faults.toSorted(byPlace), notes: notes.toSorted(byPlace), client, problemAt: at };
}

/** Where an option is mistyped, that it is missing goes without saying. */
function withoutConsequences(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  return problems.filter(({ path, message }) => !message.startsWith('expected "command"') || !problems.some((other) => other.path.startsWith(`${path}.`) && /did you mean "(url|command)"/.test(other.message)));
}

const secretServerKeys = ['headers', 'env', 'envFile'];

/** Takes out what clients keep for themselves, and says so, and what this process is not to hold. */
function withoutServerKeys(value: unknown, secrets: readonly string[], note: Report): unknown {
  if (!isMap(value) || !isMap(value['mcpServers'])) return value;
  const servers = Object.entries(value['mcpServers']).map(([name, server]) => {
    if (!isMap(server)) return [name, server] as const;
    const ours = { ...server };
    for (const key of ignoredServerKeys.filter((each) => Object.hasOwn(server, each))) {
      note(['mcpServers', name, key], 'it is a client\'s own, and means nothing here');
      delete ours[key];
    }
    for (const key of secrets) delete ours[key];
    if (secrets.length > 0 && isMap(ours['credentials'])) ours['credentials'] = without(ours['credentials'], ['clientSecret', 'privateKey'], '');
    return [name, ours] as const;
  });
  return { ...value, mcpServers: Object.fromEntries(servers), ...(secrets.length > 0 && isMap(value['vault']) ? { vault: without(value['vault'], ['keys'], []) } : {}) };
}

/** That there are some is known everywhere, and what they are only where they are used. */
function without(options: Readonly<Record<string, unknown>>, secrets: readonly string[], instead: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [key, secrets.includes(key) ? instead : value]));
}
