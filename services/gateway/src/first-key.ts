/** The first API key of an installation that nobody has set up yet: made once, and shown once. */
import { existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatKeys, newKey } from '@omnibus/identity';

/**
 * Makes the file of keys where there is none, with one key in it. Of several processes that try at once, one does.
 * @returns the key, which nobody can read anywhere else; undefined when there was a file.
 * @throws {Error} in words for the operator.
 */
export function makeFirstKey(file: string): string | undefined {
  // The file may stand where nothing can be written, so whether it is there is asked first.
  if (existsSync(file)) return undefined;
  const { key, record } = newKey({ subject: 'first', groups: [], endpoints: undefined, expires: undefined, note: 'made at the first start' });
  const written = `${file}.${record.id}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(written, formatKeys([record]), { mode: 0o600 });
    linkSync(written, file);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw new Error(`the file of API keys ${file} does not exist, and cannot be created: ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(written, { force: true });
  }
}
