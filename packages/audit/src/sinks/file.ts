/**
 * Files of JSON lines. Each process has files of its own, `<writer>-000001.jsonl` and so on, so that no two processes write to one. A write hands the lines
 * to the operating system; the sync that follows brings them to the disk.
 */
import { mkdir, open, readdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { readLink, type Head } from '../chain.ts';
import type { Batch } from '../lines.ts';
import type { Sink } from '../sink.ts';

export interface FileSinkOptions {
  readonly name: string;
  readonly folder: string;
  readonly writer: string;
  /** Bytes and milliseconds after which a new file is begun. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Milliseconds since its last record, and bytes of all files, after which a file is removed. */
  readonly keepMs: number;
  readonly keepBytes: number;
  /** Called when a file was removed, with its last record. */
  readonly retired: (head: Head, file: string) => void;
}

/** Time between two checks for old files. */
const lookMs = 10 * 60_000;
const fileName = /^(.+)-(\d{6,})\.jsonl$/;
/** Bytes at the end of a file that contain its last record. */
const tailBytes = 64 * 1_024;

export class FileSink implements Sink {
  readonly name: string;
  readonly batch = { lines: 1_000, bytes: 1024 * 1024 } as const;
  readonly #options: FileSinkOptions;
  #handle: FileHandle | undefined;
  #number = 0;
  #size = 0;
  #openedAt = 0;
  #lookedAt = 0;
  #unsynced: FileHandle[] = [];

  constructor(options: FileSinkOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async write(lines: Batch): Promise<void> {
    const pieces = lines.pieces();
    const handle = await this.#file();
    let end: number;
    try {
      end = await writeAll(handle, pieces, this.#size);
    } catch (error) {
      // Nothing may remain of a failed write, as on a full disk.
      await handle.truncate(this.#size);
      throw error;
    }
    this.#size = end;
    if (!this.#unsynced.includes(handle)) this.#unsynced.push(handle);
  }

  async sync(): Promise<void> {
    const handles = this.#unsynced;
    this.#unsynced = [];
    try {
      await Promise.all(handles.map((handle) => handle.datasync()));
    } catch (error) {
      // The state of the disk is unknown, so the lines are written again, to the next file.
      const left = new Set([...handles, ...this.#unsynced, ...(this.#handle === undefined ? [] : [this.#handle])]);
      this.#handle = undefined;
      this.#unsynced = [];
      for (const handle of left) await handle.close();
      throw error;
    }
    for (const handle of handles) if (handle !== this.#handle && !this.#unsynced.includes(handle)) await handle.close();
  }

  async close(): Promise<void> {
    const handles = new Set([...this.#unsynced, ...(this.#handle === undefined ? [] : [this.#handle])]);
    this.#handle = undefined;
    this.#unsynced = [];
    for (const handle of handles) await handle.close();
  }

  async #file(): Promise<FileHandle> {
    const now = Date.now();
    const { maxBytes, maxAgeMs, folder, writer } = this.#options;
    if (this.#handle !== undefined && this.#size < maxBytes && now - this.#openedAt < maxAgeMs) {
      if (now - this.#lookedAt > lookMs) await this.#removeOld(now);
      return this.#handle;
    }
    // The previous file is closed by the next sync, after its lines.
    if (this.#handle !== undefined && !this.#unsynced.includes(this.#handle)) this.#unsynced.push(this.#handle);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    this.#number += 1;
    this.#handle = await open(join(folder, `${writer}-${String(this.#number).padStart(6, '0')}.jsonl`), 'wx', 0o600);
    this.#size = 0;
    this.#openedAt = now;
    await this.#removeOld(now);
    return this.#handle;
  }

  async #removeOld(now: number): Promise<void> {
    this.#lookedAt = now;
    const { folder, writer, keepMs, keepBytes, retired } = this.#options;
    const own = `${writer}-${String(this.#number).padStart(6, '0')}.jsonl`;
    const files: { readonly file: string; readonly bytes: number; readonly changedAt: number }[] = [];
    for (const file of (await readdir(folder)).filter((each) => fileName.test(each) && each !== own)) {
      const { size, mtimeMs } = await stat(join(folder, file));
      files.push({ file, bytes: size, changedAt: mtimeMs });
    }
    let total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { file, bytes, changedAt } of files.toSorted((one, other) => one.changedAt - other.changedAt)) {
      if (now - changedAt <= keepMs && total <= keepBytes) break;
      const last = await readLast(join(folder, file));
      await unlink(join(folder, file));
      total -= bytes;
      if (last !== undefined) retired(last, file);
    }
  }
}

/** @param from place in the file, in bytes. @returns the end of the written part. */
async function writeAll(handle: FileHandle, pieces: readonly Buffer[], from: number): Promise<number> {
  let at = from;
  for (let left = pieces; left.length > 0;) {
    const { bytesWritten } = await handle.writev(left, at);
    at += bytesWritten;
    left = without(left, bytesWritten);
  }
  return at;
}

/** The pieces without as many bytes at their beginning. */
function without(pieces: readonly Buffer[], bytes: number): readonly Buffer[] {
  let [index, rest] = [0, bytes];
  for (; index < pieces.length && rest >= (pieces[index] as Buffer).length; index += 1)
    rest -= (pieces[index] as Buffer).length;
  return rest === 0 ? pieces.slice(index) : [(pieces[index] as Buffer).subarray(rest), ...pieces.slice(index + 1)];
}

/** The last record of a file. */
async function readLast(path: string): Promise<Head | undefined> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - tailBytes);
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(Math.min(size, tailBytes)),
      0,
      Math.min(size, tailBytes),
      from,
    );
    const link = buffer
      .subarray(0, bytesRead)
      .toString()
      .trimEnd()
      .split('\n')
      .map(readLink)
      .findLast((each) => each !== undefined);
    return link === undefined ? undefined : { writer: link.writer, seq: link.seq, hash: link.hash };
  } finally {
    await handle.close();
  }
}

/** The files of a folder in the order in which they were written, one writer after the other. */
export async function filesOf(folder: string): Promise<readonly string[]> {
  const files = (await readdir(folder)).filter((file) => fileName.test(file));
  return files.toSorted().map((file) => join(folder, file));
}
