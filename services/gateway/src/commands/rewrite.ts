import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fail } from './settings.ts';

/** What a file is to hold, and what is said of it then; undefined when the reason why not was told already. */
type Rewritten = { readonly text: string; readonly said: () => void } | { readonly problem: string } | undefined;

/**
 * Writes a file of secrets anew in one step, for its owner alone, and lets no other command do so meanwhile.
 * @param make reads it, while nobody else changes it. What it throws is told.
 */
export function rewrite(file: string, make: () => Rewritten): void {
  const lock = `${file}.lock`;
  mkdirSync(dirname(file), { recursive: true });
  try {
    closeSync(openSync(lock, 'wx'));
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
    fail([isTaken ? `another command is changing ${file}; if there is none, remove ${lock}` : `${file} cannot be written: ${String(error)}`]);
    return;
  }
  try {
    const made = make();
    if (made === undefined) return;
    if ('problem' in made) {
      fail([made.problem]);
      return;
    }
    const written = `${file}.new`;
    writeFileSync(written, made.text, { mode: 0o600 });
    renameSync(written, file);
    made.said();
  } catch (error) {
    fail([(error as Error).message]);
  } finally {
    rmSync(lock, { force: true });
  }
}
