/** Adds servers to the configuration and removes them, keeping its layout and comments. A running gateway follows the file. */
import { dirname, relative, resolve } from 'node:path';
import {
  entriesAt,
  enabledServers,
  formatOf,
  formatProblem,
  isDocumentAddress,
  loadConfig,
  removeEntry,
  setEntry,
  type LoadedConfig,
  type LoadResult,
} from '@omnibus/config';
import { isObject, isToken, printable, type JsonObject } from '@omnibus/protocol';
import { counted } from '../output/counted.ts';
import { type Exit, CommandProblem } from '@omnibus/client';
import { nameChanges } from '../findings/name-changes.ts';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { confirm, isInteractive, type InputOptions } from '../output/terminal.ts';
import { changedLines, readText, replaceFile } from '../output/write-file.ts';
import { agreeToAdded } from '../starts/consent.ts';
import { startsOf } from '../starts/starts.ts';
import type { Starting } from '../gateway.ts';
import { hideSecrets, isWritten, writeSecret, type Secret } from './secret-files.ts';
import { findConfigFile } from './settings.ts';
import type { FromOptions, GivenEntry } from './registry.ts';

export interface FileOptions extends InputOptions {
  readonly config?: string;
  readonly yes?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

export interface AddServerOptions extends FileOptions, Starting, FromOptions {
  readonly url?: string;
  readonly openapi?: string;
  readonly type?: string;
  readonly header?: readonly string[];
  readonly env?: readonly string[];
  readonly cwd?: string;
  /** False with `--no-try`. */
  readonly try?: boolean;
}

const newFile = 'omnibus.yaml';

/** Adds a server after connecting to it once. @param words a program and its arguments, or an address. */
export function addServer(name: string, words: readonly string[], options: AddServerOptions): Promise<void> {
  return runCommand(options.json, async () => {
    if (!isToken(name))
      throw new CommandProblem('usage', `${JSON.stringify(name)} is not a valid name of a server`, {
        advice: 'Names are 1 to 64 letters, digits, "_" and "-".',
      });
    const file = findConfigFile(options.config) ?? newFile;
    const secrets: Secret[] = [];
    const { entry: given, secrets: secretNames, prepare } = await givenEntry(name, words, options, file);
    // Printed lines are for another place, where the files of secrets are not.
    const entry = options.print === true ? given : hideSecrets(given, name, file, secrets, secretNames);
    const before = attempt(file, () => readText(file));
    const existing = attempt(file, () => entriesAt(before, formatOf(file, before), ['mcpServers']));
    if (isObject(existing) && Object.hasOwn(existing, name) && options.yes !== true) {
      if (!isInteractive(options))
        throw new CommandProblem('usage', `${file} has a server ${name} already`, {
          advice: 'Replace it with --yes, or choose another name.',
        });
      if (!(await confirm(`${file} has a server ${name} already. Replace it?`, false)))
        throw new CommandProblem('interrupted', `${file} was not changed`);
    }
    const after = attempt(file, () => setEntry(before, formatOf(file, before), ['mcpServers'], name, entry));
    const starts = startsOf(checkText(file, after));
    for (const risk of starts.find(({ server }) => server === name)?.risks ?? []) notice(`warning: ${name}: ${risk}`);
    if (options.from !== undefined && options.try !== false) await agreeToTry(name, entry, options);
    if (options.try !== false) {
      await prepare?.();
      await tryServer({ name, file, text: after, secrets }, options);
    }
    const news = options.print === true ? [] : attempt(file, () => secrets.filter((secret) => !isWritten(secret)));
    for (const secret of news)
      notice(
        `a secret goes into ${secret.file}, readable by you only; to take it from the environment, give it as '\${NAME}'`,
      );
    return write(
      {
        file,
        before,
        after,
        about: { server: name },
        // Secrets are written before the configuration, so that a gateway that follows it finds them.
        prepare,
        first: () => {
          for (const secret of news) writeSecret(secret);
        },
        isFirstNeeded: news.length > 0,
        last: () => agreeToAdded(file, starts, [name]),
      },
      options,
    );
  });
}

export function removeServer(name: string, options: FileOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const file = findConfigFile(options.config);
    if (file === undefined)
      throw new CommandProblem('config', 'there is no configuration here', { advice: 'Name it: --config FILE.' });
    const before = attempt(file, () => readText(file));
    const servers = attempt(file, () => entriesAt(before, formatOf(file, before), ['mcpServers']));
    if (!isObject(servers) || !Object.hasOwn(servers, name))
      throw new CommandProblem('unknown', `${file} has no server ${JSON.stringify(name)}`, {
        advice: isObject(servers) ? `It has ${Object.keys(servers).join(', ') || 'none'}.` : undefined,
      });
    const after = attempt(file, () => removeEntry(before, formatOf(file, before), ['mcpServers'], name));
    checkText(file, after);
    return write({ file, before, after, about: { server: name } }, options);
  });
}

/** A server that is about to be added. */
interface Added {
  readonly name: string;
  readonly file: string;
  /** The configuration with it. */
  readonly text: string;
  /** The files that it refers to and that are not written yet. */
  readonly secrets: readonly Secret[];
}

interface Change {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** Members of the output with `--json`. */
  readonly about: object;
  /** Puts files in their place once the user has agreed, also where the file stays as it is. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** Runs before the file is written. */
  readonly first?: () => void;
  /** Whether `first` changes something where the file stays as it is. */
  readonly isFirstNeeded?: boolean;
  /** Done afterwards. */
  readonly last?: () => void;
}

/** Shows the changed lines, asks for confirmation on a terminal, and writes the file. @throws {CommandProblem} */
export async function write(
  { file, before, after, about, prepare, first, isFirstNeeded = false, last }: Change,
  options: FileOptions,
): Promise<Exit> {
  const lines = changedLines(before, after);
  if (options.print === true) {
    if (options.json === true) answerJson({ ...about, file, text: after });
    else answer(after);
    return 'done';
  }
  if (lines.length > 0) {
    if (options.json !== true) notice([file, ...lines.map((line) => `  ${line}`)].join('\n'));
    const changes = changesOfNames(file, before, after);
    if (changes !== undefined) notice(`  ${changes}`);
    if (options.yes !== true && isInteractive(options) && !(await confirm('Write this?', true)))
      throw new CommandProblem('interrupted', `${file} was not changed`);
    await prepare?.();
    first?.();
    attempt(file, () => replaceFile(file, before, after, 0o600));
    last?.();
  } else {
    await prepare?.();
    if (isFirstNeeded) first?.();
  }
  if (options.json === true) answerJson({ ...about, file, isChanged: lines.length > 0 || isFirstNeeded });
  else
    answer(
      lines.length > 0
        ? `${file} is changed; a running gateway follows the change\n`
        : isFirstNeeded
          ? `${file} names that already; "omnibus reload" makes a running gateway read the secret\n`
          : `${file} has that already, and was not changed\n`,
    );
  return 'done';
}

/** For a check of a configuration: secrets in files and in the secret store are not read, and are empty. */
export const withoutSecrets = { env: process.env, readFile: () => '', secret: () => ({ text: '' }) };

/** What becomes of the names of tools that clients know already; undefined where they stay. */
export function changesOfNames(file: string, before: string, after: string): string | undefined {
  const [old, now] = [before, after].map((text) => loadConfig({ file, text, ...withoutSecrets })) as [
    LoadResult,
    LoadResult,
  ];
  return 'problems' in old || 'problems' in now ? undefined : nameChanges(old.config, now.config);
}

/** Checks that the gateway would accept the changed configuration, before it is written. @throws {CommandProblem} */
export function checkText(file: string, text: string): LoadedConfig {
  const loaded = loadConfig({ file, text, ...withoutSecrets });
  if ('problems' in loaded)
    throw new CommandProblem(
      'config',
      `${file} would have mistakes after the change:\n${loaded.problems.map(formatProblem).join('\n')}`,
    );
  return loaded;
}

export function attempt<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new CommandProblem(
      'config',
      `${(error as Error).message.includes(file) ? '' : `${file}: `}${(error as Error).message}`,
    );
  }
}

/** A file is named from the folder of the configuration. */
function documentOf(openapi: string | undefined, file: string): { readonly openapi?: string } {
  if (openapi === undefined) return {};
  return { openapi: isDocumentAddress(openapi) ? openapi : relative(dirname(resolve(file)), resolve(openapi)) };
}

/** The entry that the words describe, or the registry; and names in it that are secret. */
async function givenEntry(
  name: string,
  words: readonly string[],
  options: AddServerOptions,
  file: string,
): Promise<Omit<GivenEntry, 'secrets'> & Partial<Pick<GivenEntry, 'secrets'>>> {
  const { from, set = [], use, openapi, url } = options;
  if (from === undefined) {
    if (set.length > 0 || use !== undefined)
      throw new CommandProblem('usage', '--set and --use are for a server of a registry', {
        advice: 'Name it: --from SERVER.',
      });
    return { entry: entryOf(words, { ...options, ...documentOf(openapi, file) }) };
  }
  if (words.length > 0 || url !== undefined || openapi !== undefined)
    throw new CommandProblem('usage', '--from names the server, and a program or address was given too', {
      advice: 'Leave one of them out.',
    });
  return (await import('./registry.ts')).entryFrom(from, options, { name, folder: dirname(resolve(file)) });
}

function entryOf(words: readonly string[], options: AddServerOptions): Record<string, unknown> {
  const { url, openapi, type, header = [], env = [], cwd } = options;
  const isAddress = words.length === 1 && /^[a-z][\w+.-]*:\/\//i.test(words[0] as string);
  const [first, ...args] = isAddress ? [] : words;
  const address = url ?? (isAddress ? words[0] : undefined);
  if (url !== undefined && isAddress)
    throw new CommandProblem('usage', `there are two addresses: ${JSON.stringify(words[0])} and --url`, {
      advice: 'Leave one of them out.',
    });
  checkPlace(address ?? openapi, first, header);
  return {
    ...(openapi === undefined ? {} : { openapi }),
    ...(address === undefined ? {} : { url: address }),
    ...(first === undefined ? {} : { command: first, ...(args.length > 0 ? { args } : {}) }),
    ...(type === undefined ? {} : { type }),
    ...(env.length === 0 ? {} : { env: pairsOf(env, '=', '--env') }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(header.length === 0 ? {} : { headers: pairsOf(header, ':', '--header') }),
  };
}

/** @param place an address or a document. @throws {CommandProblem} */
function checkPlace(place: string | undefined, command: string | undefined, header: readonly string[]): void {
  if (place === undefined && command === undefined)
    throw new CommandProblem('usage', 'neither a program nor an address was given', {
      advice:
        'omnibus add NAME -- npx -y PACKAGE, omnibus add NAME https://HOST/mcp, omnibus add NAME --openapi FILE, or omnibus add NAME --from SERVER',
    });
  if (place === undefined && header.length > 0)
    throw new CommandProblem('usage', '--header is for a server at an address, and a program was given', {
      advice: 'Give a program what it needs with --env NAME=value.',
    });
}

function pairsOf(lines: readonly string[], sign: ':' | '=', option: string): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(sign);
      if (at < 1)
        throw new CommandProblem(
          'usage',
          `${option}: expected "NAME${sign === ':' ? ': value' : '=value'}", not ${JSON.stringify(line)}`,
        );
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** Shows what a registry gives, and asks on a terminal, since a publisher has chosen it. @throws {CommandProblem} */
async function agreeToTry(name: string, entry: JsonObject, options: AddServerOptions): Promise<void> {
  notice(`${name} is ${printable(JSON.stringify(entry), 4_000)}`);
  if (options.yes !== true && isInteractive(options) && !(await confirm('Connect to it?', true)))
    throw new CommandProblem('interrupted', 'nothing was started, and no file was changed');
}

/** Connects to the server once and prints its entries. @throws {CommandProblem} if the connection fails, unless `--yes` or the user accepts that. */
async function tryServer({ name, file, text, secrets }: Added, options: AddServerOptions): Promise<void> {
  const baseFolder = dirname(resolve(file));
  const readFile = (path: string): string => {
    const whole = resolve(baseFolder, path);
    return secrets.find((secret) => resolve(secret.file) === whole)?.text ?? readText(whole);
  };
  const loaded = loadConfig({ file, text, env: process.env, readFile });
  if ('problems' in loaded || !enabledServers(loaded.config).has(name)) return;
  const server = loaded.config.mcpServers[name];
  if (server === undefined) return;
  const { findServers } = await import('./try-servers.ts');
  if (options.json !== true) notice(`trying ${name} …`);
  const [record] = await findServers(
    { ...loaded.config, mcpServers: { [name]: server }, profiles: {} },
    baseFolder,
    options.start,
  );
  if (record === undefined || record.status === 'up') {
    if (record !== undefined && options.json !== true)
      notice(
        `${name} is up: ${counted(record.lists.tools.length, 'tool')}, ${counted(record.lists.prompts.length, 'prompt')}, ${counted(record.lists.resources.length, 'resource')}`,
      );
    return;
  }
  const problem = `${name} does not work: ${record.problem ?? 'it does not answer'}`;
  if (options.yes === true) notice(`omnibus: ${problem}`);
  else if (!isInteractive(options))
    throw new CommandProblem('unreachable', problem, {
      advice: 'Correct it, or add it as it is with --yes or --no-try.',
    });
  else if (!(await confirm(`${problem}. Add it all the same?`, false)))
    throw new CommandProblem('interrupted', `${file} was not changed`);
}
