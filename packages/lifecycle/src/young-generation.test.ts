import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { Load } from './young-generation.ts';

const url = new URL('./young-generation.ts', import.meta.url).href;
const bound = `(await import(${JSON.stringify(url)})).boundYoungGeneration();`;
/** What the program does before it loads its code. */
const first = `process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');`;

/** A script in which objects survive. @param turns of the event loop, in each of which a few megabytes survive. */
const working = (turns: number): string => `
  const { setImmediate } = await import('node:timers/promises');
  const kept = [];
  for (let turn = 0; turn < ${turns}; turn += 1) {
    for (let count = 0; count < 40_000; count += 1) kept[count % 20_000] = { count, more: [count, count, count, count, count, count] };
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
const grownTo = (start: string, turns: number, words: readonly string[] = []): number =>
  numberOf(`${start} ${working(turns)} ${telling}`, words);

/** The same of a thread that starts when its process has made many objects. */
const threadGrownTo = (start: string): number =>
  numberOf(`
    ${start} ${working(200)}
    const { Worker } = await import('node:worker_threads');
    new Worker(${JSON.stringify(`${working(200)} ${telling}`)}, { eval: true });
  `);

it('memory for new objects stays small while a process starts, if V8 did not let it grow before', () => {
  expect(grownTo(`${first} ${bound}`, 2)).toBeLessThan(5);
});

it('full collections are no sign of load', () => {
  const collecting = `
    const pause = (await import('node:timers/promises')).setImmediate;
    for (let count = 0; count < 100; count += 1) {
      gc();
      await pause();
    }
  `;
  expect(grownTo(`${first} ${bound} ${collecting}`, 2, ['--expose-gc'])).toBeLessThan(5);
});

it('a process is under load when its collections follow each other and it has made much', () => {
  const load = new Load();
  const megabyte = 1_024 * 1_024;
  expect(load.collected(10_000, 40 * megabyte)).toBe(false);
  expect(load.collected(12_000, 40 * megabyte), 'after a rest').toBe(false);
  expect(load.collected(12_500, 40 * megabyte), 'not much yet').toBe(false);
  expect(load.collected(13_000, 40 * megabyte)).toBe(true);
  expect(load.collected(13_500, megabyte)).toBe(true);
  expect(load.collected(20_000, megabyte), 'after a rest').toBe(false);
});

it('memory for new objects ends at halves of 8 to 16 MB, unless the command line has another size', () => {
  // V8 derives its own maximum from the memory of the machine.
  expect(grownTo('', 200, ['--max-semi-space-size=64'])).toBeGreaterThan(60);
  // The factor is a whole number, so it takes halves of more than 8 MB no further; V8 has let them end at 10.
  const megabytes = grownTo(`${first} ${bound}`, 200);
  expect(megabytes).toBeGreaterThan(16);
  expect(megabytes).toBeLessThan(40);
  expect(grownTo(bound, 200), 'of a program that let V8 begin').toBeLessThan(40);
  expect(grownTo(`${first} ${bound}`, 200, ['--max-semi-space-size=32'])).toBeGreaterThan(60);
});

it('a thread has the memory for new objects that its process has', () => {
  const megabytes = threadGrownTo(`${first} ${bound}`);
  expect(megabytes).toBeGreaterThan(30);
  expect(megabytes).toBeLessThan(40);
});
