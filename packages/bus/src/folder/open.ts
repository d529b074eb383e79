/**
 * The file in which a gateway of one process stores sessions and streams, so that the next process continues them. SQLite writes it: a process that is killed
 * at any moment leaves a file that the next one can read. One process at a time has the file.
 */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { BusError } from '../errors.ts';

/** Form of the tables. A file of a later version is left alone. */
const version = 1;
/** Bound on the file: more than the bounds of all buckets and of the journal together. */
const maxFileBytes = 1024 * 1024 * 1024;
const pageBytes = 4_096;

/** Codes of SQLite (https://www.sqlite.org/rescode.html). */
const codes = { busy: 5, locked: 6, full: 13, corrupt: 11, notADatabase: 26 } as const;

export const fileName = 'gateway.db';

/**
 * @param busyMs milliseconds to wait for another process that has the file.
 * @throws {BusError} `refused`, in words for the operator.
 */
export async function openFile(folder: string, busyMs: number): Promise<DatabaseSync> {
  const path = join(folder, fileName);
  makePrivate(folder, path);
  const { DatabaseSync: Database } = await import('node:sqlite');
  let file: DatabaseSync | undefined;
  try {
    file = new Database(path);
    file.exec(
      // Exclusive: the lock is held until the process ends, in whatever way. Without a flush for each write, a loss of power may take the latest ones away, but
      // leaves a readable file. Deleted answers of servers are overwritten.
      `pragma busy_timeout = ${busyMs}; pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = normal;
       pragma secure_delete = on; pragma max_page_count = ${maxFileBytes / pageBytes}`,
    );
    prepare(file, path);
    return file;
  } catch (error) {
    file?.close();
    throw error instanceof BusError ? error : new BusError('refused', openingProblem(path, error), error);
  }
}

function prepare(file: DatabaseSync, path: string): void {
  const found = file.prepare('pragma user_version').get()?.['user_version'] as number;
  if (found > version)
    throw new BusError(
      'refused',
      `${path} is of a later version of Omnibus: start that version, or remove the file: sessions, sign-ins, quotas and blocks in it are lost`,
    );
  file.exec(
    `begin immediate;
     create table if not exists entries (
       bucket text not null, key text not null, revision integer not null, until real, value blob not null, primary key (bucket, key)
     ) without rowid;
     create table if not exists streams (
       id integer primary key autoincrement, journal text not null, subject text not null, at real not null, bytes integer not null, entry blob not null
     );
     create index if not exists streams_of on streams (journal, subject);
     create index if not exists streams_at on streams (journal, at);
     pragma user_version = ${version};
     commit`,
  );
}

/** Only the user of this process can read the file; SQLite gives the files beside it the same mode. */
function makePrivate(folder: string, path: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { mode } = statSync(folder);
    if (process.platform !== 'win32' && (mode & 0o022) !== 0)
      throw new BusError(
        'refused',
        `other users of this machine can change the folder ${folder} (mode ${(mode & 0o777).toString(8)}): run "chmod go-w ${folder}", or name a folder in it that does not exist yet`,
      );
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
  } catch (error) {
    if (error instanceof BusError) throw error;
    throw new BusError(
      'refused',
      `${path} cannot be written: ${(error as NodeJS.ErrnoException).code ?? String(error)}. Name a folder that this user can write`,
      error,
    );
  }
}

function openingProblem(path: string, error: unknown): string {
  switch (codeOf(error)) {
    case codes.busy:
    case codes.locked:
      return `another gateway uses ${path}: stop it first, or name another folder`;
    case codes.full:
      return `there is no room to write ${path}: free some, or name a folder on another disk`;
    case codes.corrupt:
    case codes.notADatabase:
      return `${path} is damaged or no file of Omnibus: remove it (sessions, sign-ins, quotas and blocks in it are lost), or name another folder`;
    default:
      return `${path} cannot be opened: ${(error as Error).message}`;
  }
}

/** The error of a write that failed while the gateway runs. */
export function writingError(error: unknown): BusError {
  return codeOf(error) === codes.full
    ? new BusError('overloaded', `the disk or the store is full`, error)
    : new BusError('overloaded', `the store cannot be written: ${(error as Error).message}`, error);
}

/** The primary code of an error of SQLite; undefined for any other error. */
function codeOf(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : undefined;
}
