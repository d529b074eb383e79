import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const url = new URL('./young-generation.ts', import.meta.url).href;
const bound = `(await import(${JSON.stringify(url)})).boundYoungGeneration();`;

/** A script in which objects survive. @param turns of the event loop, in each of which a few megabytes survive. */
const working = (turns: number): string => `
  const { setImmediate } = await import('node:timers/promises');
  const kept = [];
  for (let turn = 0; turn < ${turns}; turn += 1) {
    for (let count = 0; count < 40_000; count += 1) kept[count % ${turns === 1 ? 4_000 : 20_000}] = { count, more: [count, count, count, count, count, count] };
    await setImmediate();
  }
`;
const telling = `
  const { getHeapSpaceStatistics } = await import('node:v8');
  console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 1e6);
`;

function numberOf(script: string, words: readonly string[] = []): number {
  const args = [...words, '--input-type=module', '--eval', script];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

/** Megabytes of the young generation, both halves, of a process in which objects survive. */
const grownTo = (first: string, turns: number, words: readonly string[] = []): number =>
  numberOf(`${first} ${working(turns)} ${telling}`, words);

/** The same of a thread that starts when its process has made many objects. */
const threadGrownTo = (first: string): number =>
  numberOf(`
    ${first} ${working(200)}
    const { Worker } = await import('node:worker_threads');
    new Worker(${JSON.stringify(`${working(200)} ${telling}`)}, { eval: true });
  `);

it('memory for new objects is there after a few collections, and not after hundreds', () => {
  expect(grownTo('', 1)).toBeLessThan(10);
  expect(grownTo(bound, 1)).toBeGreaterThan(30);
});

it('memory for new objects ends at halves of 16 MB, unless the command line has another size', () => {
  // V8 derives its own maximum from the memory of the machine.
  expect(grownTo('', 200, ['--max-semi-space-size=64'])).toBeGreaterThan(60);
  expect(grownTo(bound, 200)).toBeLessThan(40);
  expect(grownTo(bound, 200, ['--max-semi-space-size=32'])).toBeGreaterThan(60);
});

it('a thread has the memory for new objects that its process has', () => {
  const megabytes = threadGrownTo(bound);
  expect(megabytes).toBeGreaterThan(30);
  expect(megabytes).toBeLessThan(40);
});
