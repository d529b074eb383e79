/** Changes of files of secrets, which commands and the gateway make at any time, one after another. */
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { renameDurably, writeDurably } from '@omnibus/credentials/durable';
import { FileLock } from '@omnibus/credentials/file-lock';

/** A file has no such record. */
export class UnknownRecord extends Error {}

/**
 * Replaces a file of secrets in one step, readable by its owner only; a symbolic link stays one. It waits for concurrent changes. A
 * lock of a killed process delays others for at most ten seconds.
 * @param make reads the file under the lock and returns its new text; its exception is passed on, and the file stays unchanged.
 * @throws {Error} in words for the operator.
 */
export async function rewrite(file: string, make: () => string): Promise<void> {
  const target = existsSync(file) ? realpathSync(file) : file;
  for (let isWritten = false; !isWritten;) {
    const lock = await inWords(file, async () => {
      mkdirSync(dirname(target), { recursive: true });
      return FileLock.take(`${target}.lock`);
    });
    try {
      const text = make();
      isWritten = lock.isHeld && (await inWords(file, () => write(target, text)));
    } finally {
      lock.leave();
    }
  }
}

function write(target: string, text: string): true {
  const written = `${target}.new`;
  writeDurably(written, text);
  renameDurably(written, target);
  return true;
}

async function inWords<Made>(file: string, work: () => Made | Promise<Made>): Promise<Made> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
