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
