/** Turns the file of an MCP client into a configuration of Omnibus: its servers, and remarks about them. */
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { isToken } from '@omnibus/protocol';
import { isDocumentAddress } from '../openapi-schema.ts';
import type { Path } from '../problem.ts';
import { isMap, textsIn, type Values } from '../values.ts';
import type { Beside, RemarkAt } from './beside.ts';
import { withoutBridge } from './bridges.ts';
import { serversAt, type Client, type Found } from './client.ts';
import { isBuiltIn, translateEntry } from './translate.ts';
import { pathFrom, projectFolder, translatePlaceholders, type Place } from './variables.ts';

export interface Adopted {
  /** Whether the file has a place where the client keeps servers. */
  readonly hasServers: boolean;
  readonly value: { readonly mcpServers: Readonly<Record<string, unknown>> };
  readonly notes: readonly RemarkAt[];
  readonly losses: readonly RemarkAt[];
  /** Names of servers that need a lost option. */
  readonly unusable: ReadonlySet<string>;
  /** The path in the client's file that the value at a path of `value` comes from. */
  readonly origin: (path: Path) => Path;
}

export interface AdoptOptions {
  /** The folder of the configuration that takes the servers over; that of the client's file by default, which is then served itself. */
  readonly into?: string;
  readonly replacesBridges?: boolean;
}

/** @param file names the file, for placeholders such as `${workspaceFolder}` and for relative paths. */
export function adopt(client: Client, file: string, value: unknown, options: AdoptOptions = {}): Adopted {
  const found = client.find !== undefined && isMap(value) ? client.find(value) : serversIn(client, value);
  const names = (found ?? []).map(({ name }) => name);
  const beside: Beside = isMap(value) ? (client.beside?.(value, names) ?? {}) : {};
  const adoption = new Adoption(client, file, options, beside, {
    inputs: inputsOf(value),
    isOfPlugin: isPlugin(client, found ?? []),
  });
  for (const each of found ?? []) adoption.take(each);
  const { servers, notes, losses, unusable } = adoption;
  return {
    hasServers: found !== undefined,
    value: { mcpServers: servers },
    notes,
    losses,
    unusable,
    origin: (path) => adoption.originOf(path),
  };
}

/** The servers of one file, as imported. */
class Adoption {
  readonly servers: Record<string, unknown> = {};
  readonly notes: RemarkAt[];
  readonly losses: RemarkAt[] = [];
  /** Servers that lack an option which could not be imported. */
  readonly unusable = new Set<string>();
  readonly #origins = new Map<
    string,
    { readonly path: Path; readonly calledBefore: Readonly<Record<string, string>> }
  >();
  readonly #client: Client;
  readonly #file: string;
  readonly #options: AdoptOptions;
  readonly #beside: Beside;
  readonly #facts: Pick<Place, 'inputs' | 'isOfPlugin'>;
  readonly #isOfUser: boolean;

  constructor(
    client: Client,
    file: string,
    options: AdoptOptions,
    beside: Beside,
    facts: Pick<Place, 'inputs' | 'isOfPlugin'>,
  ) {
    this.#client = client;
    this.#file = file;
    this.#options = options;
    this.#beside = beside;
    this.#facts = facts;
    this.#isOfUser = isUserFile(client, file);
    this.notes = [...(beside.notes ?? [])];
  }

  take({ name: given, path, entry }: Found): void {
    if (!isMap(entry)) {
      put(this.servers, given, entry);
      this.#origins.set(given, { path, calledBefore: {} });
      return;
    }
    const { server, calledBefore, notes, losses } = translateEntry(this.#client, entry);
    if (isBuiltIn(server)) {
      for (const { option, text } of losses) this.losses.push({ path: [...path, option], text });
      return;
    }
    if (isThisGateway(given, server)) {
      this.notes.push({ path, text: 'it is this gateway itself, which cannot be its own server; it is left out' });
      return;
    }
    const name = freeName(given, this.servers);
    if (name !== given)
      this.notes.push({ path, text: `its name here is "${name}": names are letters, digits, "_" and "-"` });
    const replaced = this.#withoutBridge(server, path);
    const placed = withFolder(
      restricted(replaced, given, this.#beside),
      this.#file,
      this.#isOfUser,
      this.#options.into,
    );
    this.#origins.set(name, { path, calledBefore });
    for (const { option, text } of notes) this.notes.push({ path: [...path, option], text });
    for (const { option, text } of losses) this.losses.push({ path: [...path, option], text });
    put(this.servers, name, this.#withReferences(name, placed, path, calledBefore));
  }

  /** Where the user finds an option that is named by its path in the configuration. */
  originOf([top, name, option, ...rest]: Path): Path {
    const origin = top === 'mcpServers' && typeof name === 'string' ? this.#origins.get(name) : undefined;
    if (origin === undefined) return [top, name, option, ...rest].filter((step) => step !== undefined);
    if (option === undefined) return origin.path;
    const before = origin.calledBefore[String(option)];
    return before === undefined ? [...origin.path, option, ...rest] : [...origin.path, before];
  }

  #withoutBridge(server: Readonly<Record<string, unknown>>, path: Path): Readonly<Record<string, unknown>> {
    const bridge = this.#options.replacesBridges === true ? withoutBridge(server) : undefined;
    if (bridge === undefined) return server;
    if ('kept' in bridge) {
      this.notes.push({ path, text: bridge.kept });
      return server;
    }
    for (const text of bridge.notes) this.notes.push({ path, text });
    return 'entry' in bridge ? { ...bridge.entry } : server;
  }

  #withReferences(
    name: string,
    server: Readonly<Record<string, unknown>>,
    path: Path,
    calledBefore: Readonly<Record<string, string>>,
  ): Record<string, unknown> {
    const where: Omit<Place, 'option'> = {
      client: this.#client,
      file: this.#file,
      isOfUser: this.#isOfUser,
      own: isMap(server['env']) ? server['env'] : {},
      ...this.#facts,
    };
    return Object.fromEntries(
      Object.entries(server).flatMap(([option, each]) => {
        const at: Path = [...path, calledBefore[option] ?? option];
        const taken = withReferences(each, { ...where, option }, at, this.notes, this.losses);
        if (taken !== undefined) return [[option, taken]];
        this.unusable.add(name);
        return [];
      }),
    );
  }
}

/** Sets a member of any name, `__proto__` too. */
function put(map: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
}

function serversIn({ keys }: Client, value: unknown): readonly Found[] | undefined {
  for (const path of [...keys, ['mcpServers'], ['servers']]) {
    const servers = path.reduce<unknown>((at, step) => (isMap(at) ? at[step] : undefined), value);
    const found = serversAt(servers, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Values that VS Code proposes in questions to its user, by id. */
function inputsOf(value: unknown): Readonly<Record<string, string>> {
  const inputs: unknown = isMap(value) ? value['inputs'] : undefined;
  return Object.fromEntries(
    (Array.isArray(inputs) ? inputs.filter((each) => isMap(each)) : []).flatMap(({ id, default: proposed }) =>
      typeof id === 'string' && typeof proposed === 'string' && !/[{}$]/.test(proposed) ? [[id, proposed]] : [],
    ),
  );
}

/** Whether the servers are those of a plugin: their file is a plugin's, or one of them names the plugin's folder. */
const isPlugin = ({ id }: Client, found: readonly Found[]): boolean =>
  id === 'plugin' || found.some(({ entry }) => /\$\{CLAUDE_PLUGIN_(ROOT|DATA)\}/.test(JSON.stringify(entry) ?? ''));

/** Whether the file is one of a user, with servers for every project. */
function isUserFile(client: Client, file: string): boolean {
  const path = resolve(file).replaceAll('\\', '/');
  return (
    /\/(Code( - Insiders)?|Cursor|VSCodium|Windsurf|data)\/User\//.test(path) ||
    projectFolder(file) === homedir() ||
    client
      .userFiles({ platform: process.platform, home: homedir(), env: process.env })
      .some((each) => resolve(each) === resolve(file))
  );
}

/** Tools and servers that the file forbids beside the entry. */
function restricted(server: Values, name: string, { exclude = [], include = [], disabled = [] }: Beside): Values {
  const of = (rows: typeof exclude): readonly string[] =>
    rows.filter((row) => row.server === name || row.server === '*').flatMap(({ tools }) => tools);
  const [excluded, included] = [of(exclude), of(include)];
  const both = textsIn(server['includeTools']);
  return {
    ...server,
    ...(excluded.length === 0 ? {} : { excludeTools: [...new Set([...textsIn(server['excludeTools']), ...excluded])] }),
    ...(included.length === 0
      ? {}
      : { includeTools: both.length === 0 ? included : included.filter((tool) => both.includes(tool)) }),
    ...(disabled.includes(name) ? { disabled: true } : {}),
  };
}

/** Clients start the programs of a project in its folder, and resolve paths there. */
function withFolder(server: Values, file: string, isOfUser: boolean, into: string | undefined): Values {
  const [here, there] = [projectFolder(file), resolve(into ?? dirname(file))];
  const { cwd, envFile, openapi } = server;
  const whole = (path: unknown): unknown =>
    typeof path === 'string' && !path.includes('${') ? pathFrom(here, path) : path;
  if (here === there) return server;
  if (typeof openapi === 'string' && !isDocumentAddress(openapi)) return { ...server, openapi: whole(openapi) };
  if (typeof server['command'] !== 'string' || server['url'] !== undefined) return server;
  return {
    ...server,
    ...(isOfUser && cwd === undefined ? {} : { cwd: whole(cwd ?? here) }),
    ...(envFile === undefined ? {} : { envFile: whole(envFile) }),
  };
}

/** What `omnibus connect` has written, or a user by hand. */
function isThisGateway(name: string, { url, command, args }: Values): boolean {
  if (typeof url === 'string')
    return name === 'omnibus' && /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?\/mcp(\/|$)/.test(url);
  if (Array.isArray(args) && args.includes('stdio') && args.includes('--connect')) return true;
  // Under another name it is a different gateway, which may be a server of this one.
  return name === 'omnibus' && typeof command === 'string' && /(^|[/\\])omnibus(\.js)?$/.test(command);
}

function freeName(given: string, taken: Readonly<Record<string, unknown>>): string {
  const fitting =
    isToken(given) && given !== '__proto__'
      ? given
      : given
          .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
          .replaceAll(/^_+|_+$/g, '')
          .slice(0, 60) || 'server';
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? fitting : `${fitting}-${number}`;
    if (!Object.hasOwn(taken, name)) return name;
  }
}

/**
 * Replaces placeholders in an option. A header or variable that cannot be imported is left out.
 * @returns undefined if the whole option cannot be imported.
 */
function withReferences(value: unknown, place: Place, path: Path, notes: RemarkAt[], losses: RemarkAt[]): unknown {
  if (typeof value === 'string') {
    const { text, notes: noted, loss } = translatePlaceholders(value, place);
    for (const each of noted) notes.push({ path, text: each });
    if (loss === undefined) return text;
    losses.push({ path, text: loss });
    return undefined;
  }
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, index) => withReferences(item, place, [...path, index], notes, losses));
    return items.includes(undefined) ? undefined : items;
  }
  if (!isMap(value)) return value;
  const mayLose = place.option === 'env' || place.option === 'headers';
  const entries = Object.entries(value).map(
    ([key, item]) => [key, withReferences(item, place, [...path, key], notes, losses)] as const,
  );
  if (!mayLose && entries.some(([, item]) => item === undefined)) return undefined;
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}
