/**
 * Lets one of several processes write a file: the one that has created the lock file beside it. A lock that is older than writing takes counts as abandoned, and so
 * does one of a process of this machine that has ended.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, lstatSync, openSync, readFileSync, renameSync, rmSync, utimesSync, writeSync } from 'node:fs';
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

  /** Resolves when this process has the lock. @throws {Error} when a lock file cannot be created at all, or an abandoned one cannot be removed. */
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

/**
 * Removes an abandoned lock, also one that cannot be read: that of another user's process, or a link to a file that is not there.
 * @throws {Error} in words when it cannot be removed: waiting for it would not end.
 */
function recover(path: string): void {
  const token = read(path);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory()) throw new Error(`${path} is a folder, where the gateway needs a file for a lock: remove it`);
  // The clock may have been set back since.
  const isOld = Math.abs(Date.now() - found.mtimeMs) > staleMs;
  if (!isOld && (token === undefined || !isOfGone(token))) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return; // Another process has removed it.
    throw new Error(`the abandoned lock ${path} cannot be removed (${code ?? 'unknown'}): remove it`, { cause: error });
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
