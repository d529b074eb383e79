/**
 * Finds processes that a program left running although its process group has ended. A process that made a session of its own (`setsid`) has left the group,
 * but its environment still has the mark of the program that it descends from. Linux only, where `/proc` shows environments. A process that clears its
 * environment on purpose is not found; only a container or a cgroup would hold it.
 */
import { readdir, readFile } from 'node:fs/promises';

/** The environment variable with the mark. */
export const markVariable = 'OMNIBUS_PROGRAM';
/** How often processes are looked for, since processes that are being ended may start others. */
const maxRounds = 5;
/** Files of `/proc` that are open at the same time. A machine may have thousands of processes, and many programs may end at once. */
const filesAtOnce = 16;

/** A search for one program's processes. */
interface Search {
  readonly mark: string;
  readonly done: () => void;
  rounds: number;
}

/** Searches that the next pass over `/proc` serves together. */
let waiting: Search[] = [];
let isLooking = false;

/** Ends every process with a mark. Resolves when none is found any more. */
export function endMarked(mark: string): Promise<void> {
  return new Promise((done) => {
    waiting.push({ mark, done, rounds: 0 });
    if (!isLooking) void look();
  });
}

async function look(): Promise<void> {
  isLooking = true;
  while (waiting.length > 0) {
    const searches = new Map(waiting.map((search) => [search.mark, search]));
    waiting = [];
    const found = await marked(new Set(searches.keys()));
    for (const search of searches.values()) {
      const pids = found.get(search.mark) ?? [];
      for (const pid of pids) end(pid);
      search.rounds += 1;
      if (pids.length === 0 || search.rounds === maxRounds) search.done();
      else waiting.push(search);
    }
  }
  isLooking = false;
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended meanwhile.
  }
}

/** The processes with each mark. */
async function marked(marks: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>();
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).values();
  const read = async (): Promise<void> => {
    for (const name of names) {
      // Processes of other users and ended processes cannot be read; the environment of a zombie is empty.
      const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
      const [, mark] = new RegExp(`(?:^|\0)${markVariable}=([^\0]*)`).exec(environment) ?? [];
      if (mark !== undefined && marks.has(mark)) found.set(mark, [...(found.get(mark) ?? []), Number(name)]);
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, read));
  return found;
}
