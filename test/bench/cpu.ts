import { readdirSync, readFileSync } from 'node:fs';

/**
 * Seconds of processor time, user and system, that processes have used so far (Linux, `/proc/<pid>/task/<tid>/schedstat`, which counts nanoseconds: the clock
 * ticks of `stat` are too coarse for short rounds).
 */
export function cpuSeconds(pids: readonly number[]): number {
  let nanoseconds = 0;
  for (const pid of pids)
    for (const thread of readdirSync(`/proc/${pid}/task`))
      nanoseconds += onCpu(`/proc/${pid}/task/${thread}/schedstat`);
  return nanoseconds / 1e9;
}

/** A thread that has ended meanwhile counts nothing. */
function onCpu(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ')[0]);
  } catch {
    return 0;
  }
}

/** The clock ticks of a second, in which Linux shows times of processes. */
const ticksPerSecond = 100;

/** The same with the threads that have ended, in clock ticks: for rounds of a second or more (`/proc/<pid>/stat`). */
export function processSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program may contain anything, so members are counted from its end.
    const members = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return sum + (Number(members[11]) + Number(members[12])) / ticksPerSecond;
  }, 0);
}

/** Bytes of resident memory of processes. */
export function residentBytes(pids: readonly number[]): number {
  return pids.reduce(
    (sum, pid) => sum + Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    0,
  );
}
