import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

const megabyte = 1_024 * 1_024;
/** Bytes to which a half of the young generation grows. V8 would go on to halves of 64 MB, which saves 1 % of a call and takes 80 MB more. */
const enoughBytes = 16 * megabyte;

/**
 * Keeps the memory for new objects as it is until the process is under load. Then it may grow in one step to its bound, and no further.
 *
 * V8 may shrink it while a process rests, and lets it grow again only by what survives its collections. Of gateways that were loaded in turn, some spent
 * five times as long on collecting as others (docs/explanation/speed.md, What varies).
 *
 * V8 reads a maximum only on the command line of Node. At run time it reads the factor of growth, a whole number: from halves of more than 8 MB it is 1. The
 * factor counts for threads too, so their halves begin at their full size. An operator who sets a size on the command line has that size.
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
    const collections = list.getEntries().filter(isOfNewObjects);
    if (collections.length === 0) return;
    const half = halfBytes();
    let isLoaded = false;
    for (const { startTime } of collections) isLoaded = load.collected(startTime, half);
    const wanted = isLoaded ? factorFrom(half) : 1;
    if (wanted !== factor) growBy((factor = wanted));
  }).observe({ entryTypes: ['gc'] });
}

/** Whether a collection was one of new objects alone. */
function isOfNewObjects(entry: PerformanceEntry): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined;
  return (
    typeof detail === 'object' &&
    detail !== null &&
    'kind' in detail &&
    detail.kind === constants.NODE_PERFORMANCE_GC_MINOR
  );
}

/** Tells load from a start and from rest, by collections of new objects. */
export class Load {
  /** More than a start makes, and than some thousand calls. */
  static readonly #muchBytes = 64 * megabyte;
  static readonly #restMs = 1_000;
  #bytes = 0;
  #lastMs = 0;

  /** @param bytes that were made before this collection. @returns whether the process is under load. */
  collected(ms: number, bytes: number): boolean {
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
