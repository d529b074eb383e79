/** A program that keeps servers in a file: facts about it, and about an entry of its file. */
import type { Path } from '../problem.ts';
import { isMap, type Values } from '../values.ts';
import type { ReadBeside } from './beside.ts';

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How a gateway is reached by a client: at an address, or by a program that the client starts. */
interface GatewayEntry {
  readonly url: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it lists few tools, which a client that defers tools has to keep loaded. */
  readonly isShort?: boolean;
}

/** A server in a client's file. */
export interface Found {
  readonly name: string;
  readonly path: Path;
  readonly entry: unknown;
}

/**
 * The servers of a map by their names, or of a list.
 * @param word for an entry of a list without a name, which is called by its place.
 * @returns undefined for anything else.
 */
export function serversAt(servers: unknown, path: Path, word = 'server'): readonly Found[] | undefined {
  if (Array.isArray(servers))
    return servers.map((entry: unknown, index) => ({
      name: isMap(entry) && typeof entry['name'] === 'string' ? entry['name'] : `${word}-${index + 1}`,
      path: [...path, index],
      entry,
    }));
  return isMap(servers)
    ? Object.entries(servers).map(([name, entry]) => ({ name, path: [...path, name], entry }))
    : undefined;
}

export interface Client {
  /** Its name in commands. */
  readonly id: string;
  /** Its name in messages. */
  readonly name: string;
  /** Where in the file its servers stand; each list of steps is tried in turn, and the first one is written. */
  readonly keys: readonly (readonly string[])[];
  /** The unit of a bare number in its `timeout`. */
  readonly timeoutUnit?: 's' | 'ms';
  /** Ends of the paths of its files, with `/` between folders. */
  readonly known: RegExp;
  /** Whether only this program has files at these paths, so that the path decides before the options of any other program. */
  readonly hasOwnPath?: true;
  /** Whether a file is this program's by options that no other program has; it decides before the path. */
  readonly marks?: (value: Values, format: 'yaml' | 'json' | 'toml') => boolean;
  /** Whether an entry has an option that only this client writes; it decides after the path. */
  readonly entryMarks?: (entry: Values) => boolean;
  /** Options at the top of its file that have the same name as one of Omnibus. */
  readonly shares?: readonly string[];
  /** Forms of placeholders that it replaces in addition to those with a word before a colon: `${NAME}` (braces), `$NAME` (bare). In other files they are texts. */
  readonly replaces?: readonly ('braces' | 'bare')[];
  /** Reads what stands beside the servers. */
  readonly beside?: ReadBeside;
  /** Options of its entries that mean something else than elsewhere, or that it alone has. */
  readonly options?: Readonly<Record<string, Translate>>;
  /** Finds servers that do not stand under a fixed key. */
  readonly find?: (value: Values) => readonly Found[] | undefined;
  /** Advice for a file that names servers and cannot be imported. */
  readonly instead?: string;
  /** Files of a user, the likeliest first. */
  readonly userFiles: (machine: Machine) => readonly string[];
  /** The file of a project, from its folder. */
  readonly projectFile?: string;
  /** The entry for this gateway in its file; undefined for a client with a file that `omnibus connect` does not write. */
  readonly entry?: (gateway: GatewayEntry) => object;
  /** The step for the user so that the client reads its file again. */
  readonly hint: string;
}

/** For programs whose files `omnibus connect` does not write. */
export const nowhere = { userFiles: () => [], hint: '' } as const;

/** One option of an entry that is being translated. */
export interface Special {
  readonly client: Client;
  readonly value: unknown;
  readonly entry: Values;
  readonly server: Record<string, unknown>;
  readonly set: (option: string, value: unknown) => void;
  /** @param at another option than that of the value. */
  readonly note: (text: string, at?: string) => void;
  readonly lose: (text: string) => void;
}

/** What becomes of one option of an entry. */
type Translate = (given: Special) => void;

/** For an option by which a program controls itself. */
export const own: Translate = ({ client, note }) =>
  note(`an option of ${client.name} for its own use, which has no effect here`);

/** For an option that says nothing of the server's behaviour, or that another one reads. */
export const unsaid: Translate = () => undefined;

/** For an option of Omnibus under another name. */
export const as =
  (option: string): Translate =>
  ({ value, set }) =>
    set(option, value);

/** For an option whose bare number has a unit. */
export const inUnit =
  (option: string, unit: 's' | 'ms'): Translate =>
  ({ value, set }) =>
    set(option, typeof value === 'number' ? `${value}${unit}` : value);

/** The same for several options. */
export const each = (options: readonly string[], translate: Translate): Readonly<Record<string, Translate>> =>
  Object.fromEntries(options.map((option) => [option, translate]));

/** A name for a server that the file gives none: the host of its address; undefined for anything else. */
export function nameOfHost(address: unknown): string | undefined {
  const host = typeof address === 'string' && URL.canParse(address) ? new URL(address).hostname : '';
  return host === '' ? undefined : host.replaceAll(/[^A-Za-z0-9-]+/g, '-');
}
