import { setFlagsFromString } from 'node:v8';

/** The young generation has 1 MB at first; from there it grows to 16 MB and then to its maximum (`--max-semi-space-size`). */
const growthFactor = 16;

/**
 * Lets the memory for new objects grow in larger steps than V8's factor of 2. V8 shrinks it whenever a process rests for a moment, and lets it grow again only by
 * what survives its collections. A gateway whose calls come in bursts was in that state most of the time: each burst began with hundreds of collections, and calls
 * took up to twice the processor time, in some processes and not in others. It costs up to 32 MB of memory in a process that has little to do.
 */
export function growYoungGenerationFaster(): void {
  setFlagsFromString(`--semi-space-growth-factor=${growthFactor}`);
}
