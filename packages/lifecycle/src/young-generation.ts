import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

const megabyte = 1_024 * 1_024;
/** Bytes to which a half of the young generation grows. V8 would go on to halves of 64 MB, which saves 1 % of a call and takes 80 MB more. */
const enoughBytes = 16 * megabyte;

/**
 * Keeps the memory for new objects as it is until the process is under load, and lets it grow then in one step instead of V8's factor of 2, and no further.
 * V8 may shrink it while a process rests, and lets it grow again only by what survives its collections: of gateways that were loaded in turn, some spent five times as long on
 * collecting as others (docs/explanation/speed.md, What varies). V8 takes a maximum only on the command line of Node, and a factor that is a whole number, so from halves of more
 * than 8 MB the factor is 1. It counts for threads too, so their halves begin at their full size. An operator who sets a size there has that size.
 */
export function boundYoungGeneration(): void {
  if (/m(in|ax)[-_]semi[-_]space/.test([process.env['NODE_OPTIONS'], ...process.execArgv].join(' '))) {
    growBy(Math.max(2, factorFrom(halfBytes())));
    return;
  }
  const load = new Load();
  let factor = 1;
  growBy(factor);
  setFlagsFromString(`--min-semi-space-size=${enoughBytes / megabyte}`);
  new PerformanceObserver((list) => {
    const half = halfBytes();
    let isLoaded = false;
    for (const { startTime } of list.getEntries()) isLoaded = load.isAfter(startTime, half);
    const wanted = isLoaded ? factorFrom(half) : 1;
    if (wanted !== factor) growBy((factor = wanted));
  }).observe({ entryTypes: ['gc'] });
}

/** Tells load from a start and from rest, by collections of new objects. */
export class Load {
  /** More than a start makes, and than some thousand calls. */
  static readonly #muchBytes = 64 * megabyte;
  static readonly #restMs = 1_000;
  #bytes = 0;
  #lastMs = 0;

  /** @param bytes that were made before this collection. @returns whether the process is under load. */
  isAfter(ms: number, bytes: number): boolean {
    this.#bytes = ms - this.#lastMs > Load.#restMs ? 0 : this.#bytes + bytes;
    this.#lastMs = ms;
    return this.#bytes >= Load.#muchBytes;
  }
}

function growBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

function factorFrom(half: number): number {
  return Math.max(1, Math.floor(enoughBytes / half));
}

/** Bytes of the half in which objects are made; the committed size counts the other half only after a first collection. */
function halfBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return young === undefined ? enoughBytes : young.space_used_size + young.space_available_size;
}
