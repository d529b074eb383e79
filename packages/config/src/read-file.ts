import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { loadConfig, type ConfigSource, type LoadResult } from './load.ts';

/** Bytes of a file named in `${file:…}`: a secret is small, and a pipe would hold the process up. */
const maxReferencedBytes = 64 * 1024;

export interface ReadOptions extends Pick<ConfigSource, 'withoutServerSecrets' | 'withoutExchangeSecrets'> {
  /** Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Reads and checks a configuration file. `${file:…}` is relative to its folder. */
export function readConfigFile(file: string, { env = process.env, ...how }: ReadOptions = {}): LoadResult {
  let text: string;
  try {
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
  return loadConfig({ file, text, env, readFile, ...how });
}

function unreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT': return 'there is no such file';
    case 'EISDIR': return 'this is a folder, and not a file';
    case 'EACCES': return 'this file, or a folder that it is in, may not be read by the user who runs this';
    default: return `this file cannot be read: ${code ?? String(error)}`;
  }
}
