/** Files that survive a loss of power: the text is on the disk before the file has its name, and the name before the caller goes on. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a new file that only its owner can read, and waits until the disk has it. It replaces a file or link of this name, such as that of a killed
 * process, and never writes into it: a link would lead to another file, and the owner of an existing file could read the text.
 */
export function writeDurably(path: string, text: string): void {
  rmSync(path, { force: true });
  const handle = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Gives a file its name, in the place of another one, and waits until the disk has the folder's new entry. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  syncFolder(dirname(to));
}

/** Waits until the disk has the entries of a folder. */
export function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  } catch {
    // Some systems and file systems open or sync no folders; they write its entries in their own time.
  }
}
