import type { Bus } from './bus.ts';

/** Whether all workers that stored values name ended with an earlier process, apart from those of this one: so in one process with a store. */
export function haveFormerWorkersEnded({ isShared, outlives }: Pick<Bus, 'isShared' | 'outlives'>): boolean {
  return outlives && !isShared;
}
