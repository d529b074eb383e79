/** Repetition with pauses. A loop without a pause takes the processor from the very processes that it waits for, and from the tests beside it. */
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds between two looks at a state that reports no changes. */
const lookMs = 25;
/** Milliseconds between two calls of a client that never stops calling. */
const callMs = 10;

/** Looks until there is a value. @param look returns undefined where it is not there yet. */
export async function untilThere<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await pause(lookMs);
  }
}

/** Looks until a state is true. */
export async function untilTrue(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await untilThere(async () => (await isSo()) || undefined);
}

/** Acts again and again until the signal. */
export async function repeatedly(over: AbortSignal, act: () => Promise<unknown>): Promise<void> {
  while (!over.aborted) {
    await act();
    await pause(callMs);
  }
}
