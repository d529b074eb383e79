/** Processes of the gateway with a clock that a test turns, instead of waiting for a limit. */
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { fixturePath, type RunningProcess } from './processes.ts';

/** Variables of processes with such a clock. */
export const turnable = { NODE_OPTIONS: `--import ${pathToFileURL(fixturePath('turned-clock')).href}` };

/** How often the clocks of processes were turned. */
const turns = new WeakMap<RunningProcess, number>();

/** Turns the monotonic clock of a process by a minute. It must be started with `turnable`. @returns once its clock is turned. */
export async function turnByMinute(process: RunningProcess): Promise<void> {
  const time = (turns.get(process) ?? 0) + 1;
  turns.set(process, time);
  process.kill('SIGUSR2');
  await process.line(new RegExp(`^turned ${time}$`));
}

/**
 * Turns the clock of a process until something happens. One turn may come before the process has read its input.
 * @returns the event.
 */
export async function turningUntil<T>(process: RunningProcess, happens: Promise<T>): Promise<T> {
  let isPending = true;
  const ended = (): void => {
    isPending = false;
  };
  happens.then(ended, ended);
  for (;;) {
    // The process looks at its clock at least every 250 ms.
    await Promise.race([happens, pause(300)]);
    if (!isPending) return happens;
    await turnByMinute(process);
  }
}
