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
