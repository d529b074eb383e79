/** Writes the gateway into the configuration file of an MCP client, and removes it again. */
import { existsSync, globSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import {
  clientById,
  clients,
  entriesAt,
  formatOf,
  readClientFile,
  removeEntry,
  setEntry,
  type Client,
  type ClientFile,
} from '@omnibus/config';
import { isObject, isToken, listingHeader } from '@omnibus/protocol';
import { gatewayUrl } from '../client/gateway-url.ts';
import { headerProblem, headersOf } from '../client/header-lines.ts';
import { type Exit, CommandProblem } from '@omnibus/client';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { confirm, isInteractive, type InputOptions } from '../output/terminal.ts';
import { changedLines, readText, replaceFile } from '../output/write-file.ts';
import { findOwnFile } from './settings.ts';
import { Twins } from './twins.ts';

export interface ConnectOptions extends InputOptions {
  readonly url?: string;
  readonly endpoint?: string;
  readonly name: string;
  /** HTTP headers, each as `Name: value`. */
  readonly header?: readonly string[];
  /** Changes the file of the project in this folder instead of the user's own. */
  readonly project?: boolean;
  readonly file?: string;
  /** Removes the servers of the file that the gateway has too. */
  readonly replace?: boolean;
  /** Asks for a short list of tools. */
  readonly search?: boolean;
  readonly yes?: boolean;
  readonly print?: boolean;
  readonly json?: boolean;
}

/** Path of this program, for clients that start their servers: their PATH is not that of a shell. */
const program = (): string => realpathSync(process.argv[1] ?? '.');

export function connect(id: string, options: ConnectOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const client = find(id);
    const url = addressOf(options);
    const problem = headerProblem(options.header ?? []);
    if (problem !== undefined) throw new CommandProblem('usage', problem);
    const isShort = options.search === true;
    const given = headersOf(options.header ?? []);
    const headers = isShort ? withSearch(given) : given;
    const entry = client.entry?.({
      url,
      headers,
      isShort,
      command: process.execPath,
      args: [
        program(),
        'stdio',
        '--connect',
        url,
        ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
      ],
    });
    if (entry === undefined)
      throw new CommandProblem('unknown', `omnibus does not write the file of ${client.name}`, {
        advice: `Its servers can be copied, however: omnibus import ${client.id}`,
      });
    return change(client, options, async (text, file, path) => {
      const connected = setEntry(text, formatOf(file, text), path, options.name, entry);
      const doubles = doublesIn(file, text, path);
      if (doubles.length === 0) return connected;
      const words = `${doubles.join(', ')} of ${file} ${doubles.length === 1 ? 'is' : 'are'} in ${ownFile() ?? ''} too, so ${client.name} would have ${doubles.length === 1 ? 'its' : 'their'} tools twice`;
      const isAsked =
        options.replace !== true && options.yes !== true && options.print !== true && isInteractive(options);
      if (options.replace === true || (isAsked && (await confirm(`${words}. Remove them there?`, true))))
        return doubles.reduce((left, name) => removeEntry(left, formatOf(file, left), path, name), connected);
      if (!isAsked) notice(`omnibus: ${words}; with --replace they are removed there`);
      return connected;
    });
  });
}

export function disconnect(id: string, options: ConnectOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const client = find(id);
    return change(client, options, (text, file, path) => {
      const entries = entriesAt(text, formatOf(file, text), path);
      const entry = Array.isArray(entries)
        ? entries.find((each) => isObject(each) && each['name'] === options.name)
        : isObject(entries)
          ? entries[options.name]
          : undefined;
      if (entry !== undefined && !isOurs(entry))
        throw new CommandProblem(
          'other',
          `${options.name} in ${file} is not an entry that "omnibus connect" has written`,
          { advice: 'Remove it by hand, or name the right entry with --name.' },
        );
      const left = removeEntry(text, formatOf(file, text), path, options.name);
      const others = entriesAt(left, formatOf(file, left), path);
      const copies = globSync(`${basename(file)}.omnibus-backup-*`, { cwd: dirname(file) });
      if (entry !== undefined && isObject(others) && Object.keys(others).length === 0 && copies.length > 0)
        notice(
          `omnibus: ${client.name} has no server in ${file} then; earlier texts of the file are in ${file}.omnibus-backup-*`,
        );
      return left;
    });
  });
}

/** Headers that ask for a short list, which they name once: names of headers are alike in any case (RFC 9110, 5.1). */
function withSearch(given: Readonly<Record<string, string>>): Record<string, string> {
  const others = Object.entries(given).filter(([name]) => name.toLowerCase() !== listingHeader);
  const said = Object.entries(given).find(([name]) => name.toLowerCase() === listingHeader)?.[1];
  if (said !== undefined && said.toLowerCase() !== 'search')
    throw new CommandProblem('usage', `--search contradicts the header "Omnibus-Listing: ${said}"`, {
      advice: 'Leave out one of them.',
    });
  return { ...Object.fromEntries(others), 'Omnibus-Listing': 'search' };
}

/** Prints the MCP clients that are known, with the file of each. */
export function listClients({ json = false }: { readonly json?: boolean }): Promise<void> {
  return runCommand(json, () => {
    const rows = clients.map((client) => ({
      id: client.id,
      name: client.name,
      files: filesOf(client, {}),
      found: filesOf(client, {}).filter((file) => existsSync(file)),
    }));
    if (json) answerJson(rows);
    else
      for (const { id, name, files, found } of rows)
        answer(`${id}\t${name}\t${found[0] ?? `${files[0] ?? ''} (not there)`}\n`);
    return Promise.resolve('done');
  });
}

function find(id: string): Client {
  const client = clientById(id);
  if (client !== undefined) return client;
  throw new CommandProblem('unknown', `there is no client ${JSON.stringify(id)}`, {
    advice: `There are ${clients.map((each) => each.id).join(', ')}.`,
  });
}

/** Paths where the client looks for the user's file, or with `project` for that of the project in this folder. */
export function filesOf(
  client: Client,
  { project = false, file }: { readonly project?: boolean | undefined; readonly file?: string | undefined },
): readonly string[] {
  if (file !== undefined) return [resolve(file)];
  if (project) return client.projectFile === undefined ? [] : [resolve(client.projectFile)];
  return client.userFiles({ platform: process.platform, home: homedir(), env: process.env });
}

async function change(
  client: Client,
  options: ConnectOptions,
  make: (text: string, file: string, path: readonly string[]) => string | Promise<string>,
): Promise<Exit> {
  const files = filesOf(client, options);
  const file = files.find((each) => existsSync(each)) ?? files[0];
  if (file === undefined) throw new CommandProblem('usage', `${client.name} has no file for single projects`);
  const before = readText(file);
  let after: string;
  try {
    after = await make(before, file, pathIn(client, file, before));
  } catch (error) {
    throw asProblem(file, error);
  }
  const lines = changedLines(before, after);
  if (options.print === true) {
    answer(options.json === true ? `${JSON.stringify({ client: client.id, file, text: after }, null, 2)}\n` : after);
    return 'done';
  }
  const report = (isChanged: boolean, copy?: string): Exit => {
    if (options.json === true) answerJson({ client: client.id, file, isChanged, copy });
    else
      answer(
        isChanged
          ? `${file} is changed${copy === undefined ? '' : `; the previous text is in ${copy}`}\n${client.hint === '' ? '' : `${client.hint}\n`}`
          : `${file} has that already, and was not changed\n`,
      );
    return 'done';
  };
  if (lines.length === 0) return report(false);
  if (options.yes !== true) {
    notice([file, ...lines.map((line) => `  ${line}`)].join('\n'));
    if (!isInteractive(options))
      throw new CommandProblem(
        'unanswered',
        `${file} belongs to ${client.name}, and there is no terminal to ask on whether it may be changed`,
        { advice: 'Allow the change with --yes, or look at it with --print.' },
      );
    if (!(await confirm('Change it?', true))) throw new CommandProblem('interrupted', `${file} was not changed`);
  }
  return report(
    true,
    attempt(file, () => replaceFile(file, before, after, 0o600)),
  );
}

/** The keys under which the file has its servers: those it uses already, else the client's newest. */
function pathIn(client: Client, file: string, text: string): readonly string[] {
  return (
    client.keys.find((path) => entriesAt(text, formatOf(file, text), path) !== undefined) ??
    (client.keys[0] as readonly string[])
  );
}

/** The configuration with the gateway's servers, as far as that is known here. */
const ownFile = (): string | undefined => findOwnFile(undefined);

/** Names of the servers in a client's file that the configuration here has too, as `omnibus import` has taken them. */
function doublesIn(file: string, text: string, path: readonly string[]): readonly string[] {
  const own = ownFile();
  if (own === undefined || text === '') return [];
  const folder = dirname(resolve(own));
  const twins = new Twins((each) => (existsSync(resolve(folder, each)) ? readText(resolve(folder, each)) : undefined));
  const config = readText(own);
  const ours = entriesAt(config, formatOf(own, config), ['mcpServers']);
  const given = entriesAt(text, formatOf(file, text), path);
  let read: ClientFile;
  try {
    read = readClientFile(file, text, folder);
  } catch {
    return []; // A file without servers, or one that a command to import it would explain.
  }
  return Object.entries(read.servers).flatMap(([name, server]) => {
    const [key] = read.places[name]?.slice(-1) ?? [];
    const entry = typeof key === 'number' && Array.isArray(given) ? (given[key] as unknown) : undefined;
    const known = isObject(entry) ? entry['name'] : key;
    const isOurs = Object.values(isObject(ours) ? ours : {}).some(
      (each) => isObject(each) && twins.areOneServer(twins.differences(each, server)),
    );
    return isOurs && typeof known === 'string' ? [known] : [];
  });
}

function attempt<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw asProblem(file, error);
  }
}

function asProblem(file: string, error: unknown): CommandProblem {
  if (error instanceof CommandProblem) return error;
  const { message } = error as Error;
  return new CommandProblem('config', `${message.includes(file) ? '' : `${file}: `}${message}`);
}

function isOurs(entry: unknown): boolean {
  if (!isObject(entry)) return false;
  const { url, serverUrl, httpUrl, uri, args, command } = entry;
  const address = [url, serverUrl, httpUrl, uri].find((each) => typeof each === 'string');
  if (typeof address === 'string') return /\/mcp(\/[A-Za-z0-9_-]+)?$/.test(address);
  const words = [command, args].flat();
  return words.includes('stdio') && words.includes('--connect');
}

function addressOf({ url: given, endpoint }: ConnectOptions): string {
  const url = gatewayUrl(given);
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new CommandProblem('usage', `--url: expected http://HOST:PORT/mcp, not ${JSON.stringify(url)}`);
  if (endpoint !== undefined && !isToken(endpoint))
    throw new CommandProblem(
      'usage',
      `--endpoint: expected the name of a server or profile, not ${JSON.stringify(endpoint)}`,
    );
  return endpoint === undefined ? url : `${url.replace(/\/$/, '')}/${endpoint}`;
}
