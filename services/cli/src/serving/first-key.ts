/** The first API key of a new installation: made once, and shown once. */
import { existsSync, linkSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder, writeDurably } from '@omnibus/credentials/durable';
import { formatKeys, newKey } from '@omnibus/identity';

/**
 * Creates the file of keys with one key in it, where there is none. If several processes try at once, one of them succeeds.
 * @returns the key, which is stored as a digest only; undefined when there is a file already.
 * @throws {Error} in words for the operator.
 */
export function makeFirstKey(file: string): string | undefined {
  // Checked first, since an existing file may be in a folder that cannot be written.
  if (existsSync(file)) return undefined;
  const { key, record } = newKey({
    subject: 'first',
    groups: [],
    endpoints: undefined,
    expires: undefined,
    note: 'made at the first start',
  });
  const written = `${file}.${record.id}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeDurably(written, formatKeys([record]));
    linkSync(written, file);
    syncFolder(dirname(file));
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw new Error(`the file of API keys ${file} does not exist, and cannot be created: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    rmSync(written, { force: true });
  }
}
