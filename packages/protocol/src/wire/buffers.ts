import { setFlagsFromString } from 'node:v8';

let isCounted = false;

/**
 * Lets V8 count buffers, which are outside of its heap, to the limit at which it collects the whole heap. V8 13 has a limit of its own for them, and collects the
 * whole heap whenever some tens of megabytes have passed, however soon they are free again (decision 83). Other versions may not know this flag.
 *
 * A process calls it with the first large result. Before, the limit of their own keeps its memory small.
 */
export function countBuffersToHeap(): void {
  if (isCounted) return;
  isCounted = true;
  if (process.versions.v8.startsWith('13.')) setFlagsFromString('--external-memory-accounted-in-global-limit');
}
