/** Turns the text of a configuration file into a complete configuration, or into the list of everything that is wrong with it. */
import { isTemplate, placeholdersOf } from '@omnibus/protocol';
import { adopt } from './clients/adopt.ts';
import { recognize } from './clients/recognize.ts';
import type { Client } from './clients/client.ts';
import { readDocument, type ReadDocument } from './document.ts';
import { migrateConfig } from './migrate.ts';
import { withoutMisnested } from './nesting.ts';
import { profileNotes } from './profile-notes.ts';
import { fileProblem, byPlace, formatPath, type ConfigProblem, type Path } from './problem.ts';
import { withoutValues } from './put-in.ts';
import { type ReferenceSource } from './references.ts';
import { configSchema } from './checked-schema.ts';
import { ignoredServerKeys, type Config } from './schema.ts';
import { secretsSchema, type StoreSettings } from './secrets-schema.ts';
import { ServerFaults } from './server-faults.ts';
import { serverNotes } from './server-notes.ts';
import { isMap, valueAt } from './values.ts';
import { reportIssue } from './words.ts';

export interface ConfigSource extends ReferenceSource {
  /** Path of the file: problems show it, and a client's file is recognized by it. */
  readonly file: string;
  /** YAML or JSON; TOML where the name of the file says so. */
  readonly text: string;
  /** Leaves out the secrets of servers (`headers`, `env` and the like): only a process that connects to servers looks them up. */
  readonly withoutServerSecrets?: boolean;
  /** Leaves out the secrets for exchanges of callers' tokens at issuers: only an edge uses them. */
  readonly withoutExchangeSecrets?: boolean;
  /** Takes the options that are needed out of the file. Whatever else it has is not looked at: it may be wrong, and its secrets may be missing. */
  readonly part?: ((given: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>) | undefined;
}

/** Makes a problem of a mistake that is found only after loading, with its place in the file. */
export type ProblemAt = (path: Path, message: string) => ConfigProblem;

export interface LoadedConfig {
  readonly config: Config;
  /** Problems of single servers, which are then not connected to; all others are. */
  readonly faults: readonly ConfigProblem[];
  /** Options that have no effect, or another effect than their author may expect. */
  readonly notes: readonly ConfigProblem[];
  /** The MCP client of the file; undefined for a configuration of Omnibus. */
  readonly client: Client | undefined;
  readonly problemAt: ProblemAt;
  /** As it was written, before references were looked up. */
  readonly given: unknown;
}

export type LoadResult =
  | LoadedConfig
  | {
      /** Everything that is wrong, in the order of the file. */
      readonly problems: readonly ConfigProblem[];
      /** Those of them that make the configuration unusable, where others are of single servers. */
      readonly mistakes?: readonly ConfigProblem[];
    };

type Report = (path: Path, message: string) => void;

export function loadConfig(source: ConfigSource): LoadResult {
  const { file, text } = source;
  const read = readDocument(text, file);
  if ('faults' in read) return { problems: read.faults.map((fault) => ({ file, path: '', ...fault })) };
  if (source.part !== undefined) return loadOwn(source, read);
  const client = recognize(file, read.format, read.value, (option) => Object.hasOwn(configSchema.shape, option));
  return client === undefined ? loadOwn(source, read) : loadOf(client, source, read);
}

/** Access to the secret store, by the file alone. @returns undefined if the file is wrong about it; `loadConfig` reports that. */
export function storeSettingsIn({ text, file, env, readFile }: ConfigSource): StoreSettings | undefined {
  const read = readDocument(text, file);
  if ('faults' in read) return undefined;
  const given = isMap(read.value) ? read.value['secrets'] : undefined;
  const problems: string[] = [];
  const note = (_path: Path, problem: string): void => void problems.push(problem);
  const value = new ServerFaults({ env, readFile }, note, note).substitute({ secrets: given });
  const parsed = secretsSchema.safeParse(isMap(value) ? value['secrets'] : undefined);
  return parsed.success && problems.length === 0 ? parsed.data.vault : undefined;
}

/** Loads a configuration of Omnibus; options with outdated names are problems that `omnibus migrate` mends. */
function loadOwn(source: ConfigSource, before: ReadDocument): LoadResult {
  const { file } = source;
  const { text, outdated } = migrateConfig(source.text);
  const problems: ConfigProblem[] = [];
  const now = outdated.length === 0 ? before : readDocument(text, file);
  const read = 'faults' in now ? before : now;
  const value = read.value ?? {};
  const wanted = source.part === undefined || !isMap(value) ? value : source.part(value);
  for (const { path, instead, ...place } of outdated)
    if (source.part === undefined || (isMap(wanted) && Object.hasOwn(wanted, String(path[0]))))
      problems.push({
        file,
        ...place,
        path: formatPath(path),
        message: `write ${instead}; \`omnibus migrate ${file} --write\` does it`,
      });
  return finish(source, wanted, {
    placeOf: (path) => read.placeOf(path),
    problems,
    notes: [],
    client: undefined,
  });
}

/** Loads a client's file. An entry that would become a different server than the client has is a problem; nothing is dropped silently. */
function loadOf(client: Client, source: ConfigSource, read: ReadDocument): LoadResult {
  const { file } = source;
  const { hasServers, value, notes, losses, unusable, origin } = adopt(client, file, read.value);
  if (client.instead !== undefined && (client.keys.length === 0 || !hasServers))
    return {
      problems: [fileProblem(file, `this is a file of ${client.name}, and none of Omnibus: ${client.instead}`)],
    };
  const at = (path: Path, message: string): ConfigProblem => ({
    file,
    ...read.placeOf(path),
    path: formatPath(path),
    message,
  });
  const hasRest = Object.keys(value.mcpServers).some((name) => !unusable.has(name));
  const problems = losses.map(({ path, text }) =>
    at(path, hasRest ? `${text}; \`omnibus import ${file}\` takes over the rest` : text),
  );
  if (!hasServers)
    problems.push(
      at(
        [],
        `this is a file of ${client.name}, which keeps its servers under ${client.keys[0]?.join('.') ?? 'mcpServers'}, and it has none there`,
      ),
    );
  if (client.id === 'client' && isMap(read.value)) {
    for (const option of Object.keys(read.value).filter(
      (each) => !['mcpServers', 'inputs', '$schema'].includes(each),
    )) {
      reportIssue(
        { code: 'unrecognized_keys', keys: [option], path: [], message: '', input: read.value },
        read.value,
        (path, message) => void problems.push(at(path, message)),
      );
    }
  }
  return finish(source, value, {
    placeOf: (path) => read.placeOf(origin(path)),
    pathOf: origin,
    problems,
    notes: notes.map(({ path, text }) => at(path, text)),
    client,
  });
}

interface Found {
  readonly placeOf: (path: Path) => { readonly line: number; readonly column: number };
  /** The path in the file for a path of the translated configuration. */
  readonly pathOf?: (path: Path) => Path;
  readonly problems: ConfigProblem[];
  readonly notes: ConfigProblem[];
  readonly client: Client | undefined;
}

/** Resolves references and runs all checks on a configuration with Omnibus' own option names. */
function finish(
  source: ConfigSource,
  raw: unknown,
  { placeOf, pathOf = (path) => path, problems, notes, client }: Found,
): LoadResult {
  const { file } = source;
  const at = (path: Path, message: string): ConfigProblem => ({
    file,
    ...placeOf(path),
    path: formatPath(pathOf(path)),
    message,
  });
  const into =
    (list: ConfigProblem[]): Report =>
    (path, message) =>
      void list.push(at(path, message));
  const report = into(problems);
  const faults: ConfigProblem[] = [];
  for (const group of ['mcpServers', 'profiles'])
    if (isMap(raw) && isMap(raw[group]) && Object.hasOwn(raw[group], '__proto__'))
      report([group, '__proto__'], 'this name has a meaning of its own in JavaScript: choose another');
  const servers = new ServerFaults(
    source,
    report,
    into(faults),
    source.withoutServerSecrets === true || source.withoutExchangeSecrets === true,
  );
  const value = servers.substitute(withoutServerKeys(withoutMisnested(raw, report), source, into(notes)));
  const parsed = configSchema.safeParse(value);
  if (!parsed.success) for (const issue of parsed.error.issues) reportIssue(issue, value, report, raw);
  if (problems.length > 0 || !parsed.success)
    return {
      problems: withoutConsequences([...problems, ...faults]).toSorted(byPlace),
      mistakes: withoutConsequences(problems),
    };
  profileNotes(parsed.data, raw, into(notes));
  const config = { ...parsed.data, mcpServers: servers.mark(parsed.data.mcpServers) };
  serverNotes(config, raw, client === undefined, into(notes));
  return {
    config,
    faults: faults.toSorted(byPlace),
    notes: notes.toSorted(byPlace),
    client,
    problemAt: (path, message) => at(path, withoutValues(message, valueAt(value, path), valueAt(raw, path))),
    given: raw,
  };
}

/** Leaves out "expected command or url" for a server where one of these is only mistyped, which another problem reports. */
function withoutConsequences(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  return problems.filter(
    ({ path, message }) =>
      !message.startsWith('expected "command"') ||
      !problems.some(
        (other) => other.path.startsWith(`${path}.`) && /did you mean "(url|command)"/.test(other.message),
      ),
  );
}

const secretServerKeys = ['headers', 'env', 'envFile'];

/** Removes options that clients write for their own use, with a note, and secrets that this process must not hold. */
function withoutServerKeys(
  value: unknown,
  {
    withoutServerSecrets = false,
    withoutExchangeSecrets = false,
  }: Pick<ConfigSource, 'withoutServerSecrets' | 'withoutExchangeSecrets'>,
  note: Report,
): unknown {
  if (!isMap(value) || !isMap(value['mcpServers'])) return value;
  const servers = Object.entries(value['mcpServers']).map(([name, server]) => {
    if (!isMap(server)) return [name, server] as const;
    const ours = { ...server };
    for (const key of ignoredServerKeys.filter((each) => Object.hasOwn(server, each))) {
      note(
        ['mcpServers', name, key],
        key === 'oauth'
          ? 'an option of clients, which has no effect here: where users sign in at the server, write credentials: { kind: oauth }'
          : 'an option of clients for their own use, which has no effect here',
      );
      delete ours[key];
    }
    if (withoutServerSecrets) for (const key of secretServerKeys) delete ours[key];
    // Headers about the caller decide which facts its adapter gets.
    if (withoutServerSecrets && isMap(server['headers'])) ours['headers'] = placeholdersIn(server['headers']);
    const { credentials, tls } = ours;
    if (withoutServerSecrets && isMap(server['tools'])) ours['tools'] = withoutFixedValues(server['tools']);
    if (withoutServerSecrets && isMap(tls)) ours['tls'] = without(tls, ['key', 'cert', 'ca'], '');
    if (isMap(credentials) && (isMadeFromCallers(credentials) ? withoutExchangeSecrets : withoutServerSecrets))
      ours['credentials'] = without(credentials, ['clientSecret', 'privateKey'], '');
    return [name, ours] as const;
  });
  return {
    ...value,
    mcpServers: Object.fromEntries(servers),
    ...(withoutServerSecrets && isMap(value['vault']) ? { vault: without(value['vault'], ['keys'], []) } : {}),
  };
}

/** Whether an edge asks for the tokens that the server is called with. */
function isMadeFromCallers({ kind, identityProvider }: Readonly<Record<string, unknown>>): boolean {
  return (
    kind === 'exchange' || (kind === 'enterprise' && !(isMap(identityProvider) && 'idTokenFile' in identityProvider))
  );
}

/** The headers that name the caller, without any other text in them. */
function placeholdersIn(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && isTemplate(value) ? [[name, placeholdersOf(value)]] : [],
    ),
  );
}

/** Tools without the fixed values of their arguments, which may be secret. The facts about the caller in them decide which facts the adapter gets. */
function withoutFixedValues(tools: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return mapMembers(tools, (tool) =>
    isMap(tool['arguments'])
      ? {
          ...tool,
          arguments: mapMembers(tool['arguments'], (shape) =>
            'fixed' in shape
              ? { ...shape, fixed: typeof shape['fixed'] === 'string' ? placeholdersOf(shape['fixed']) : null }
              : shape,
          ),
        }
      : tool,
  );
}

function mapMembers(
  members: Readonly<Record<string, unknown>>,
  change: (member: Readonly<Record<string, unknown>>) => unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, isMap(member) ? change(member) : member]),
  );
}

/** Replaces secrets by a stand-in: every process knows that there is one, and only the process that uses it knows its value. */
function without(
  options: Readonly<Record<string, unknown>>,
  secrets: readonly string[],
  instead: unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key,
      secrets.includes(key) ? instead : isMap(value) ? without(value, secrets, instead) : value,
    ]),
  );
}
