/** Processes of the gateway whose clock a test turns, instead of waiting for a limit. */
import { pathToFileURL } from 'node:url';
import { fixturePath, type RunningProcess } from './processes.ts';

/** Variables of processes whose clock can be turned. */
export const turnable = { NODE_OPTIONS: `--import ${pathToFileURL(fixturePath('turned-clock')).href}` };

/** How often the clocks of processes were turned. */
const turns = new WeakMap<RunningProcess, number>();

/** Turns the monotonic clock of a process by a minute. It has to be started with `turnable`. @returns once its clock is turned. */
export async function turnByMinute(process: RunningProcess): Promise<void> {
  const time = (turns.get(process) ?? 0) + 1;
  turns.set(process, time);
  process.kill('SIGUSR2');
  await process.line(new RegExp(`^turned ${time}$`));
}
