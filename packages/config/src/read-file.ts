import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { loadConfig, storeSettingsIn, type ConfigSource, type LoadResult } from './load.ts';
import type { Resolved } from './references.ts';
import type { StoreSettings } from './secrets-schema.ts';
import { fileProblem } from './problem.ts';

/** Bytes of a configuration. Parsing blocks the process: a thousand servers take half a megabyte, and a file of this size takes seconds. */
const maxFileBytes = 16 * 1024 * 1024;
/** Bytes of a file named in `${file:…}`: a secret is small, and a pipe would hold the process up. */
const maxReferencedBytes = 64 * 1024;

/** Asks the secret store. */
export interface SecretReader {
  /**
   * Reads what references stand for.
   * @param references what follows `vault:`, each once; none where the configuration has none any more.
   * @param at the environment, and the folder that relative paths start at.
   * @returns an answer for each of them.
   */
  read(
    references: readonly string[],
    settings: StoreSettings,
    at: { readonly env: Readonly<Record<string, string | undefined>>; readonly folder: string },
  ): Promise<ReadonlyMap<string, Resolved>>;
}

export interface ReadOptions extends Pick<ConfigSource, 'withoutServerSecrets' | 'withoutExchangeSecrets' | 'part'> {
  /** Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Asked for what `${vault:…}` stands for, if there is such a reference. Default: a problem of each option that has one. */
  readonly secrets?: SecretReader | undefined;
  /** false: no server is connected to, so the store is not asked for what stands in the options of servers. Default: true. */
  readonly connects?: boolean | undefined;
}

/** Reads and checks a configuration file. `${file:…}` is relative to its folder. It asks the store once the needed secrets are known. */
export async function readConfigFile(
  file: string,
  { env = process.env, secrets, connects = true, ...how }: ReadOptions = {},
): Promise<LoadResult> {
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > maxFileBytes)
      return {
        problems: [
          fileProblem(
            file,
            `this file has ${size} bytes, and a configuration at most ${maxFileBytes}: is it the right file?`,
          ),
        ],
      };
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return { problems: [{ file, line: 1, column: 1, path: '', message: unreadable(error) }] };
  }
  const readFile = (path: string): string => {
    const absolute = resolve(dirname(file), path);
    const status = statSync(absolute, { throwIfNoEntry: false });
    if (status === undefined) throw new Error(`there is no file ${absolute}`);
    if (!status.isFile()) throw new Error('it is not a regular file');
    if (status.size > maxReferencedBytes) throw new Error(`it is larger than ${maxReferencedBytes} bytes`);
    return readFileSync(absolute, 'utf8');
  };
  const source = { file, text, env, readFile, ...how };
  if (secrets === undefined) return loadConfig(source);
  const wanted = new Set<string>();
  const first = loadConfig({
    ...source,
    secret: (reference, ofServer) => {
      if (connects || !ofServer) wanted.add(reference);
      return unasked(reference);
    },
  });
  const settings = storeSettingsIn(source);
  if (settings === undefined) return first;
  const found = await secrets.read([...wanted], settings, { env, folder: dirname(resolve(file)) });
  if (wanted.size === 0) return first;
  return loadConfig({ ...source, secret: (reference) => found.get(reference) ?? unasked(reference) });
}

/** Of a server that this process does not connect to, or while access to the store is unknown. */
function unasked(reference: string): Resolved {
  return { problem: `\${vault:${reference}} is read when \`secrets\` is mended`, isUnasked: true };
}

function unreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'this is a folder, and not a file';
    case 'EACCES':
      return 'this file, or a folder that it is in, may not be read by the user who runs this';
    default:
      return `this file cannot be read: ${code ?? String(error)}`;
  }
}
