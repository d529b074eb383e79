/** Replaces files that other programs may read at any moment: in one step, following links, keeping the mode, and with a backup of the former text. */
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  globSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { renameDurably } from '@omnibus/credentials/durable';

/** Bound on backups of one file. */
const keptCopies = 5;

/** @returns the text of the file, empty where there is none. @throws {Error} in words for the user. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    throw new Error(`${file} cannot be read: ${code === 'EISDIR' ? 'it is a folder' : (error as Error).message}`, {
      cause: error,
    });
  }
}

/**
 * @param before the original text of the file; if the file has changed since, it is not replaced.
 * @param mode permissions of a new file.
 * @returns the path of the backup; undefined for a new file.
 * @throws {Error} in words for the user.
 */
export function replaceFile(file: string, before: string, text: string, mode: number): string | undefined {
  try {
    mkdirSync(dirname(file), { recursive: true });
    const target = existsSync(file) ? realpathSync(file) : file;
    if (readText(target) !== before) throw new Error('somebody else has changed it meanwhile; do it again');
    const isNew = !existsSync(target);
    const copy = isNew ? undefined : keepCopy(target, before);
    const written = `${target}.omnibus-${process.pid}`;
    const handle = openSync(written, 'w', isNew ? mode : statSync(target).mode & 0o777);
    try {
      writeSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    if (!isNew) chmodSync(written, statSync(target).mode & 0o777);
    renameDurably(written, target);
    if (readFileSync(target, 'utf8') !== text) throw new Error('what was written is not what is there now');
    return copy;
  } catch (error) {
    throw new Error(`${file} was not changed: ${(error as Error).message}`, { cause: error });
  }
}

function keepCopy(target: string, text: string): string {
  const copy = `${target}.omnibus-backup-${new Date()
    .toISOString()
    .replaceAll(/[-:]/g, '')
    .replace(/\.(\d+)Z$/, '$1')}`;
  const handle = openSync(copy, 'w', statSync(target).mode & 0o777);
  try {
    writeSync(handle, text);
  } finally {
    closeSync(handle);
  }
  const copies = globSync(`${basename(target)}.omnibus-backup-*`, { cwd: dirname(target) }).toSorted();
  for (const old of copies.slice(0, -keptCopies)) rmSync(join(dirname(target), old), { force: true });
  return copy;
}

/** The lines that are removed, with `- ` before them, and those that are added, with `+ `; everything between the first and the last difference counts as changed. */
export function changedLines(before: string, after: string): readonly string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  return [
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...now.slice(start, now.length - end).map((line) => `+ ${line}`),
  ].filter((line) => line.length > 2);
}
