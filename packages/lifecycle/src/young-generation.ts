import { setFlagsFromString } from 'node:v8';

/** The young generation has 1 MB at first; from there it grows to 16 MB and then to its maximum (`--max-semi-space-size`). */
const growthFactor = 16;

/**
 * Lets the memory for new objects grow in larger steps than V8's factor of 2. V8 may shrink it while a process rests, and lets it grow again only by what survives
 * its collections: of gateways that were loaded in turn, some spent five times as long on collecting as others (docs/explanation/speed.md, What varies).
 */
export function growYoungGenerationFaster(): void {
  setFlagsFromString(`--semi-space-growth-factor=${growthFactor}`);
}

/**
 * Lets V8 count buffers, which are outside of its heap, to the limit at which it collects the whole heap. V8 13 has a limit of its own for them, and collects the
 * whole heap whenever some tens of megabytes have passed, however soon they are free again (decision 83). Other versions may not know this flag.
 */
export function countBuffersToHeap(): void {
  if (process.versions.v8.startsWith('13.')) setFlagsFromString('--external-memory-accounted-in-global-limit');
}
