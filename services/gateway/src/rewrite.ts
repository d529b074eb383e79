import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The new content of a file, or why it is not changed. */
type Rewritten = { readonly text: string } | { readonly problem: string };

/**
 * Replaces a file of secrets in one step, readable by its owner only. A lock file keeps other commands from changing it at the same time.
 * @param make reads the file under the lock and returns its new content. What it throws counts as a problem.
 * @returns why the file was not changed, in words; undefined when it was.
 */
export function rewrite(file: string, make: () => Rewritten): string | undefined {
  const lock = `${file}.lock`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    closeSync(openSync(lock, 'wx'));
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
    return isTaken ? `another command is changing ${file}; if there is none, remove ${lock}` : `${file} cannot be written: ${String(error)}`;
  }
  try {
    const made = make();
    if ('problem' in made) return made.problem;
    const written = `${file}.new`;
    writeFileSync(written, made.text, { mode: 0o600 });
    renameSync(written, file);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    rmSync(lock, { force: true });
  }
}
