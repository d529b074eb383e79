import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** What a file is to hold, or why it stays as it is. */
type Rewritten = { readonly text: string } | { readonly problem: string };

/**
 * Writes a file of secrets anew in one step, for its owner alone, and lets nobody else do so meanwhile.
 * @param make reads it, while nobody else changes it. What it throws is a problem too.
 * @returns why it stays as it is, in words; undefined when it is written.
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
