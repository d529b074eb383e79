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
/** Files of `/proc` that are open at once. A machine may have thousands of processes, and many programs end at the same time. */
const filesAtOnce = 16;

/** Looks for one program's processes. */
interface Search {
  readonly mark: string;
  readonly done: () => void;
  rounds: number;
}

/** Those of the next look at `/proc`, which is one for all of them. */
let waiting: Search[] = [];
let isLooking = false;

/** Ends every process that carries a mark. Resolves when none is found any more. */
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

/** By mark, the processes that carry it. */
async function marked(marks: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = new Map<string, number[]>();
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).values();
  const read = async (): Promise<void> => {
    for (const name of names) {
      // Another user's process cannot be read, and one that has ended neither; a zombie's environment is empty.
      const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
      const [, mark] = new RegExp(`(?:^|\0)${markVariable}=([^\0]*)`).exec(environment) ?? [];
      if (mark !== undefined && marks.has(mark)) found.set(mark, [...found.get(mark) ?? [], Number(name)]);
    }
  };
  await Promise.all(Array.from({ length: filesAtOnce }, read));
  return found;
}
