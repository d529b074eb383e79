import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const url = new URL('./young-generation.ts', import.meta.url).href;
const bound = `(await import(${JSON.stringify(url)})).boundYoungGeneration();`;

/**
 * Megabytes of the young generation, both halves, of a process in which objects survive.
 * @param turns of the event loop, in each of which a few megabytes survive.
 */
function grownTo(first: string, turns: number, words: readonly string[] = []): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { setImmediate } from 'node:timers/promises';
    ${first}
    const kept = [];
    for (let turn = 0; turn < ${turns}; turn += 1) {
      for (let count = 0; count < 40_000; count += 1) kept[count % ${turns === 1 ? 4_000 : 20_000}] = { count, more: [count, count, count, count, count, count] };
      await setImmediate();
    }
    console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 1e6);
  `;
  const args = [...words, '--input-type=module', '--eval', script];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

it('memory for new objects is there after a few collections, and not after hundreds', () => {
  expect(grownTo('', 1)).toBeLessThan(10);
  expect(grownTo(bound, 1)).toBeGreaterThan(30);
});

it('memory for new objects ends at halves of 16 MB, unless the command line has another size', () => {
  expect(grownTo('', 200)).toBeGreaterThan(60);
  expect(grownTo(bound, 200)).toBeLessThan(40);
  expect(grownTo(bound, 200, ['--max-semi-space-size=32'])).toBeGreaterThan(60);
});
