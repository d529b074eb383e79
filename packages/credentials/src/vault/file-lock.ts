/**
 * Lets one of several processes write a file: the one that has created the lock file beside it. A lock that is older than writing takes counts as abandoned, and so
 * does one of a process of this machine that has ended.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** Age after which a lock counts as abandoned. Writing takes milliseconds; a process that was paused for longer finds its lock taken, and writes nothing (`isHeld`). */
const staleMs = 10_000;
const lookMs = 5;
const keepMs = staleMs / 4;

export class FileLock {
  readonly #path: string;
  readonly #token = JSON.stringify({ host: hostname(), pid: process.pid, id: randomUUID() });

  private constructor(path: string) {
    this.#path = path;
  }

  /** Resolves when this process has the lock. @throws {Error} when a lock file cannot be created at all. */
  static async take(path: string): Promise<FileLock> {
    const lock = new FileLock(path);
    while (!lock.#make()) {
      recover(path);
      await delay(lookMs);
    }
    return lock;
  }

  /** Whether this process still has the lock: another one may have taken it for abandoned. */
  get isHeld(): boolean {
    return read(this.#path) === this.#token;
  }

  /** Keeps the lock from counting as abandoned while its process waits for a user. @returns a function that ends this. */
  keep(): () => void {
    const timer = setInterval(() => {
      const now = new Date();
      if (this.isHeld) utimesSync(this.#path, now, now);
    }, keepMs).unref();
    return () => clearInterval(timer);
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

/** Removes an abandoned lock. */
function recover(path: string): void {
  const token = read(path);
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  // The clock may have been set back since.
  if (token === undefined || !(Math.abs(age) > staleMs || isOfGone(token))) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // Another process has removed it.
  }
  // If another process replaced the lock since it was read, the new one was moved aside: it is put back. A lock made in between loses, which its owner learns by `isHeld`.
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
    return (error as NodeJS.ErrnoException).code === 'ESRCH'; // Otherwise the process exists and is another user's, or the lock is not written yet.
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // There is no lock.
  }
}
