import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

const megabyte = 1_024 * 1_024;
/** Bytes to which a half of the young generation grows. V8 would go on to halves of 64 MB, which saves 1 % of a call and takes 80 MB more. */
const enoughBytes = 16 * megabyte;

/**
 * Lets the memory for new objects grow in one step instead of V8's factor of 2, and no further. V8 may shrink it while a process rests, and lets it grow again only by what survives
 * its collections: of gateways that were loaded in turn, some spent five times as long on collecting as others (docs/explanation/speed.md, What varies). V8 takes a
 * maximum only on the command line of Node, and a factor that is a whole number, so from halves of more than 8 MB the factor is 1. It counts for threads too,
 * so their halves begin at their full size. An operator who sets a size there has that size.
 */
export function boundYoungGeneration(): void {
  let factor = 0;
  const choose = (): void => {
    const wanted = Math.max(1, Math.floor(enoughBytes / halfBytes()));
    if (wanted === factor) return;
    factor = wanted;
    setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
  choose();
  if (/semi[-_]space/.test([process.env['NODE_OPTIONS'], ...process.execArgv].join(' '))) return;
  setFlagsFromString(`--min-semi-space-size=${enoughBytes / megabyte}`);
  new PerformanceObserver(choose).observe({ entryTypes: ['gc'] });
}

/** Bytes of the half in which objects are made; the committed size counts the other half only after a first collection. */
function halfBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return young === undefined ? enoughBytes : young.space_used_size + young.space_available_size;
}
