import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

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
  const url = new URL('./buffers.ts', import.meta.url).href;
  const usual = collectionsOf('');
  const counted = collectionsOf(`(await import(${JSON.stringify(url)})).countBuffersToHeap();`);
  process.stdout.write(`\ncollections of the whole heap: ${usual}, and ${counted} with buffers counted to it\n`);
  expect(counted).toBeLessThan(usual / 1.5);
});
