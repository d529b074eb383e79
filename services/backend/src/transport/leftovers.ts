/**
 * Finds what a program left running although its process group is gone: a process that made a session of its own (`setsid`) is in no
 * group of ours, but its environment still carries the mark its ancestor was started with. Linux only, where `/proc` shows it; a
 * process that clears its environment on purpose is not found (only a container or a cgroup would hold it).
 */
import { readdir, readFile } from 'node:fs/promises';

/** The environment variable that holds the mark of the program that a process descends from. */
export const markVariable = 'OMNIBUS_PROGRAM';
/** How often processes are looked for: those that are ended may have started others meanwhile. */
const maxRounds = 5;

/** Ends every process that carries a mark. Resolves when none is found any more. */
export async function endMarked(mark: string): Promise<void> {
  for (let round = 0; round < maxRounds; round += 1) {
    const found = await marked(mark);
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has ended meanwhile.
      }
    }
  }
}

async function marked(mark: string): Promise<number[]> {
  const entry = `${markVariable}=${mark}`;
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(async (name) => {
    // Another user's process cannot be read, and one that has ended neither; a zombie's environment is empty.
    const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
    return environment.includes(entry) ? [Number(name)] : [];
  }));
  return found.flat();
}
