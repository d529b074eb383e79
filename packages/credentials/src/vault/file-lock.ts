/**
 * Who may write a file, of several processes: whoever has made the file beside it. A lock that is older than writing takes is nobody's any more, and so
 * is one of a process of this machine that is gone.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** Writing takes milliseconds; a process that hangs for longer finds its lock taken, and writes nothing (`isHeld`). */
const staleMs = 10_000;
const lookMs = 5;

export class FileLock {
  readonly #path: string;
  readonly #token = JSON.stringify({ host: hostname(), pid: process.pid, id: randomUUID() });

  private constructor(path: string) {
    this.#path = path;
  }

  /** Resolves when it is ours. @throws {Error} where it cannot be made at all. */
  static async take(path: string): Promise<FileLock> {
    const lock = new FileLock(path);
    while (!lock.#make()) {
      recover(path);
      await delay(lookMs);
    }
    return lock;
  }

  /** Whether nobody has taken it for a lock of nobody. */
  get isHeld(): boolean {
    return read(this.#path) === this.#token;
  }

  leave(): void {
    if (this.isHeld) rmSync(this.#path, { force: true });
  }

  #make(): boolean {
    try {
      const file = openSync(this.#path, 'wx', 0o600);
      writeSync(file, this.#token);
      closeSync(file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }
}

/** Takes a lock out of the way that is nobody's any more. */
function recover(path: string): void {
  const token = read(path);
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (token === undefined || !(age > staleMs || isOfGone(token))) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // Another process has done so.
  }
  // Between the look and now somebody may have made a new one: it is put back, and whoever made another meanwhile is asked by `isHeld`.
  if (read(aside) !== token) renameSync(aside, path);
  else rmSync(aside, { force: true });
}

function isOfGone(token: string): boolean {
  try {
    const { host, pid } = JSON.parse(token) as { readonly host: string; readonly pid: number };
    if (host !== hostname() || pid === process.pid) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'; // Else it is there and another user's, or has not been written whole.
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // There is none.
  }
}
