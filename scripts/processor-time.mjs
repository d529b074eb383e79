/** The processor time of each file of tests, for `npm test -- --where`: that of the worker while the file runs, and of the processes that have ended in it. */
import { appendFileSync, readFileSync } from 'node:fs';
import { afterAll, expect } from 'vitest';
import { processorFile } from './where.mjs';

/** The file of the reporter; undefined unless the causes of the time are wanted. */
const starts = process.env.OMNIBUS_WHERE;
/** Linux counts processor time in units of a hundredth of a second (`getconf CLK_TCK`). */
const ticksPerSecond = 100;
/** User time, system time, and those of ended children, after the name of the program, which may have spaces (proc_pid_stat(5)). */
const used = () => {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
};

if (starts !== undefined && process.platform === 'linux') {
  const before = used();
  // Registered before those of the file, so that it runs after them.
  afterAll(() =>
    appendFileSync(processorFile(starts), `${(used() - before).toFixed(2)} ${expect.getState().testPath}\n`),
  );
}
