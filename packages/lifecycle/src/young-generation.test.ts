import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Megabytes of the young generation of a process in which a few megabytes of objects survive. */
function grownTo(first: string): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    ${first}
    const kept = [];
    for (let count = 0; count < 40_000; count += 1) kept[count % 4_000] = { count, more: [count, count, count, count, count, count] };
    console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 1e6);
  `;
  return Number(execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }));
}

it('memory for new objects is there after a few collections, and not after hundreds', () => {
  const url = new URL('./young-generation.ts', import.meta.url).href;
  const usual = grownTo('');
  expect(usual).toBeLessThan(10);
  expect(grownTo(`(await import(${JSON.stringify(url)})).growYoungGenerationFaster();`)).toBeGreaterThan(30);
});

/** How often a process collects its whole heap while a thousand buffers of a megabyte pass. */
function collectionsOf(first: string): number {
  const script = `
    import { constants, PerformanceObserver } from 'node:perf_hooks';
    import { setImmediate } from 'node:timers/promises';
    ${first}
    let count = 0;
    new PerformanceObserver((list) => {
      for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) count += 1;
    }).observe({ entryTypes: ['gc'] });
    // As in a process that serves: what lives is more than what passes.
    const kept = Array.from({ length: 400_000 }, (_, index) => ({ index, text: 'text ' + index }));
    for (let passed = 0; passed < 1_000; passed += 1) {
      Buffer.allocUnsafeSlow(1_000_000);
      await setImmediate();
    }
    await setImmediate();
    console.log(count, kept.length);
  `;
  return Number.parseInt(
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }),
    10,
  );
}

it('buffers that pass do not make V8 collect its whole heap again and again', () => {
  const url = new URL('./young-generation.ts', import.meta.url).href;
  const usual = collectionsOf('');
  const counted = collectionsOf(`(await import(${JSON.stringify(url)})).countBuffersToHeap();`);
  process.stdout.write(`\ncollections of the whole heap: ${usual}, and ${counted} with buffers counted to it\n`);
  expect(counted).toBeLessThan(usual / 1.5);
});
