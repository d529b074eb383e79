/** Tells whether two entries are one server: they are if nothing in them differs, once references to files are read. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '@omnibus/protocol';

/** Options that say which server is reached, how, and with which credentials. */
const decisive: ReadonlySet<string> = new Set([
  'type',
  'command',
  'args',
  'env',
  'envFile',
  'cwd',
  'url',
  'headers',
  'credentials',
  'tls',
]);

/** @param readFile the text of a file that a `${file:…}` names, or undefined where there is none. */
export class Twins {
  readonly #readFile: (path: string) => string | undefined;

  constructor(readFile: (path: string) => string | undefined) {
    this.#readFile = readFile;
  }

  /**
   * @returns the options in which two entries differ, in words such as `headers` and `env`.
   */
  differences(one: JsonObject, other: JsonObject): readonly string[] {
    const [a, b] = [this.#plain(one), this.#plain(other)];
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
      (option) => !isDeepStrictEqual(a[option], b[option]),
    );
  }

  /** Whether two entries reach the same server with the same credentials, whatever their time limits and selections are. */
  areOneServer(differences: readonly string[]): boolean {
    return !differences.some((option) => decisive.has(option));
  }

  /** An entry as it is meant: without options that say what holds anyhow, with the text of files in place of their names. */
  #plain(entry: JsonObject): JsonObject {
    const { type, ...rest } = entry;
    const transport = type === 'streamable-http' || type === 'streamableHttp' ? 'http' : type;
    // `stdio` with a command says nothing new, nor does `http` with an address of it.
    const isUsual = transport === undefined || transport === 'http' || transport === 'stdio';
    const given = isUsual ? rest : { ...rest, type: transport };
    return Object.fromEntries(
      Object.entries(given)
        .filter(
          ([option, value]) =>
            value !== undefined &&
            !(option === 'disabled' && value === false) &&
            !(option !== 'includeTools' && Array.isArray(value) && value.length === 0) &&
            !(isObject(value) && Object.keys(value).length === 0),
        )
        .map(([option, value]) => [option, option === 'url' ? String(value).replace(/\/$/, '') : this.#read(value)]),
    );
  }

  #read(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#read(each));
    if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#read(each)]));
    if (typeof value !== 'string') return value;
    const [, path] = /^\$\{file:([^}]*)\}$/.exec(value) ?? [];
    return path === undefined ? value : (this.#readFile(path)?.replace(/\r?\n$/, '') ?? value);
  }
}
