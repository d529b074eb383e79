import { readFileSync } from 'node:fs';

const where = '/proc/self/limits';

/** Number of files, including sockets, that this process may have open; undefined where the system does not say. */
export function maxOpenFiles(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync(where, 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined; // Only Linux has this file.
    throw error;
  }
}
