/** A script and its worker exchange few messages: each costs both threads as much as what is in it. */
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it, vi } from 'vitest';
import { Sandbox } from './sandbox.ts';
import type { FromScript } from './script-messages.ts';
import { endAll, ran, scriptOf } from './script-under-test.ts';

afterEach(() => {
  endAll();
  vi.restoreAllMocks();
});

const twice = `const both = async (n) => { await servers.files.read({ n }); await servers.files.read({ n }); };
  await Promise.all(Array.from({ length: 16 }, (_, n) => both(n))); return 'done';`;
const count = 16;

it('calls that a script makes at once leave it together', async () => {
  const posts: string[][] = [];
  const sandbox = await Sandbox.run(scriptOf(twice, { calls: 2 * count }), (messages: readonly FromScript[]) =>
    posts.push(messages.map(({ kind }) => kind)),
  );
  const settle = (first: number): void =>
    sandbox.settle(Array.from({ length: count }, (_, at) => ({ id: first + at, isOk: true, text: '' })));
  settle(1);
  settle(1 + count);
  const calls = [...Array<string>(count).fill('call'), 'idle'];
  expect(posts).toEqual([['begun'], calls, calls, ['end']]);
});

it('outcomes of one turn reach the thread of a script together', async () => {
  const posted = vi.spyOn(Worker.prototype, 'postMessage');
  expect(await ran(twice, { calls: 2 * count })).toMatchObject({ isOk: true, text: 'done' });
  const outcomes = posted.mock.calls.map(([message]) => (message as { settled: object[] }).settled.length);
  expect(outcomes).toEqual([count, count]);
});
