/**
 * Bundles of servers (.mcpb, .dxt): zip archives of strangers. Every name is checked before anything is written, and bytes are counted while they are
 * inflated, since the sizes in an archive are words of its author.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CommandProblem } from '@omnibus/client';
import { printable } from '@omnibus/protocol';
import type { Entry, ZipFile } from 'yauzl';

/** Bounds on one bundle. */
export const maxArchiveBytes = 512 * 1024 * 1024;
const maxUnpackedBytes = 1024 * 1024 * 1024;
const maxFiles = 50_000;
const maxPath = 400;
const maxDepth = 32;

interface File {
  readonly entry: Entry;
  readonly isProgram: boolean;
}

export class Archive {
  readonly #zip: ZipFile;
  readonly #files: ReadonlyMap<string, File>;

  /** @throws {CommandProblem} if it is no archive, or some entry is refused. */
  static async open(bytes: Buffer): Promise<Archive> {
    const { fromBuffer } = await import('yauzl');
    const options = { lazyEntries: true, autoClose: false, strictFileNames: true, validateEntrySizes: true } as const;
    try {
      const zip = await new Promise<ZipFile>((resolve, reject) =>
        fromBuffer(bytes, options, (error, opened) => (error === null ? resolve(opened) : reject(error))),
      );
      return new Archive(zip, await filesIn(zip));
    } catch (error) {
      throw refusalOf(error);
    }
  }

  private constructor(zip: ZipFile, files: ReadonlyMap<string, File>) {
    this.#zip = zip;
    this.#files = files;
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** The text of a file. @returns undefined if there is none. @throws {CommandProblem} if it is longer than the bound. */
  async text(path: string, maxBytes: number): Promise<string | undefined> {
    const file = this.#files.get(path);
    if (file === undefined) return undefined;
    const chunks: Buffer[] = [];
    let length = 0;
    try {
      for await (const chunk of await this.#read(file)) {
        length += (chunk as Buffer).length;
        if (length > maxBytes) throw refused(`${path} has more than ${maxBytes} bytes`);
        chunks.push(chunk as Buffer);
      }
    } catch (error) {
      throw refusalOf(error);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  /**
   * Unpacks everything into a folder, which appears whole or not at all; one that is there already is of the same archive, by its name, and stays.
   * @param programs paths of files that are executable, whatever the archive says.
   * @throws {CommandProblem}
   */
  async unpack(folder: string, programs: ReadonlySet<string>): Promise<void> {
    if (await isThere(folder)) return;
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    const making = await mkdtemp(`${folder}.`);
    const counted = { bytes: 0 };
    try {
      for (const [path, file] of this.#files) {
        const to = join(making, path);
        await mkdir(dirname(to), { recursive: true });
        const mode = file.isProgram || programs.has(path) ? 0o755 : 0o644;
        await pipeline(await this.#read(file), counter(counted), createWriteStream(to, { flags: 'wx', mode }));
      }
      await rename(making, folder);
    } catch (error) {
      await rm(making, { recursive: true, force: true });
      throw refusalOf(error);
    }
  }

  #read({ entry }: File): Promise<Readable> {
    return new Promise((resolve, reject) =>
      this.#zip.openReadStream(entry, (error, stream) => (error === null ? resolve(stream) : reject(error))),
    );
  }
}

/** Reads all entries. @throws {Error} for one that is refused. */
function filesIn(zip: ZipFile): Promise<ReadonlyMap<string, File>> {
  const files = new Map<string, File>();
  /** Paths as file systems without capitals see them, and whether each is a folder. */
  const seen = new Map<string, boolean>();
  let bytes = 0;
  if (zip.entryCount > maxFiles) throw refused(`it has more than ${maxFiles} entries`);
  return new Promise((resolve, reject) => {
    zip.on('error', reject);
    zip.on('end', () => resolve(files));
    zip.on('entry', (entry) => {
      try {
        const path = entry.fileName.replace(/\/$/, '');
        const isFolder = entry.fileName.endsWith('/');
        checkPath(path);
        checkKind(entry, path, isFolder);
        bytes += entry.uncompressedSize;
        if (bytes > maxUnpackedBytes) throw tooMuch();
        place(seen, path, isFolder);
        if (!isFolder) files.set(path, { entry, isProgram: (modeOf(entry) & 0o111) !== 0 });
        zip.readEntry();
      } catch (error) {
        reject(error as Error);
      }
    });
    zip.readEntry();
  });
}

/** Names that are absolute, have `..` or a backslash are refused by the reader of archives; these are further ones. */
function checkPath(path: string): void {
  const parts = path.split('/');
  const isWrong = (part: string): boolean =>
    part === '' || part === '.' || part === '..' || /[. ]$/.test(part) || reserved.test(part);
  if (path.length > maxPath || parts.length > maxDepth || unusable.test(path) || parts.some(isWrong))
    throw refused(`${printable(JSON.stringify(path), 200)} is no name that every system can have`);
}
// oxlint-disable-next-line no-control-regex
const unusable = /[\u0000-\u001F\u007F<>:"|?*\\]/;
/** Names of devices on Windows. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Links and devices would lead out of the folder. */
function checkKind(entry: Entry, path: string, isFolder: boolean): void {
  if (entry.isEncrypted()) throw refused(`${printable(path, 200)} is encrypted`);
  const kind = modeOf(entry) & 0o170_000;
  if (kind !== 0 && kind !== (isFolder ? 0o040_000 : 0o100_000))
    throw refused(`${printable(path, 200)} is a link or a device, and no file`);
}

const modeOf = ({ versionMadeBy, externalFileAttributes }: Entry): number =>
  versionMadeBy >> 8 === 3 ? (externalFileAttributes >>> 16) & 0xffff : 0;

/** Two names that are one on some system would overwrite each other; a file in the place of a folder would too. */
function place(seen: Map<string, boolean>, path: string, isFolder: boolean): void {
  const parts = path.normalize('NFC').toLowerCase().split('/');
  for (let end = 1; end < parts.length; end += 1) {
    const folder = parts.slice(0, end).join('/');
    if (seen.get(folder) === false) throw refused(`${printable(path, 200)} lies in a file`);
    seen.set(folder, true);
  }
  const whole = parts.join('/');
  const before = seen.get(whole);
  if (before === false || (before === true && !isFolder))
    throw refused(`two entries have the name ${printable(path, 200)}, in capital or small letters`);
  seen.set(whole, isFolder);
}

function counter(counted: { bytes: number }): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      counted.bytes += chunk.length;
      done(counted.bytes > maxUnpackedBytes ? tooMuch() : null, chunk);
    },
  });
}

const tooMuch = (): CommandProblem => refused(`it has more than ${maxUnpackedBytes / 1024 / 1024} MiB when unpacked`);

export function refused(problem: string): CommandProblem {
  return new CommandProblem('other', `the bundle is refused: ${problem}`, {
    advice: 'Nothing of it was started. Ask its publisher for another one.',
  });
}

function refusalOf(error: unknown): CommandProblem {
  return error instanceof CommandProblem ? error : refused(printable((error as Error).message, 300));
}

async function isThere(folder: string): Promise<boolean> {
  return stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
