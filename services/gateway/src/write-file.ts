/** Changes a file that somebody else may read at any moment: in one step, through links, with its mode, and with a copy of what was there. */
import { chmodSync, closeSync, existsSync, fsyncSync, globSync, mkdirSync, openSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** How many copies of one file are kept. */
const keptCopies = 5;

/** @returns what the file holds; nothing, where there is none. @throws {Error} in words */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    throw new Error(`${file} cannot be read: ${code === 'EISDIR' ? 'it is a folder' : (error as Error).message}`, { cause: error });
  }
}

/**
 * @param before what the file held when `text` was made of it; when it holds something else by now, it stays as it is.
 * @param mode of a file that is new.
 * @returns the copy of what was there.
 * @throws {Error} in words
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
    renameSync(written, target);
    if (readFileSync(target, 'utf8') !== text) throw new Error('what was written is not what is there now');
    return copy;
  } catch (error) {
    throw new Error(`${file} was not changed: ${(error as Error).message}`, { cause: error });
  }
}

function keepCopy(target: string, text: string): string {
  const copy = `${target}.omnibus-backup-${new Date().toISOString().replaceAll(/[-:]/g, '').replace(/\.(\d+)Z$/, '$1')}`;
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

/** The lines that go and that come, without what stays. */
export function changedLines(before: string, after: string): readonly string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  return [...old.slice(start, old.length - end).map((line) => `- ${line}`), ...now.slice(start, now.length - end).map((line) => `+ ${line}`)].filter((line) => line.length > 2);
}
