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

it('a call for whose outcome the script does not wait is made', async () => {
  const end = await ran(`servers.files.read({ n: 1 }); return 'done';`);
  expect(end).toMatchObject({ isOk: true, text: 'done', calls: ['{"n":1}'] });
});

it('each call has its own outcome, whatever their sizes, and however many are refused in between', async () => {
  const end = await ran(
    `const sizes = [1, 70_000, 12_000, 2, 90_000, 3];
    const all = sizes.map((size, n) => servers.files.read({ n, size, text: 'x'.repeat(size > 9_000 ? 10 : size) }));
    all.splice(3, 0, servers.files.read({ text: 'x'.repeat(20_000) }));
    const made = (await Promise.allSettled(all)).map(({ status, value, reason }) => value?.text.length ?? reason.reason);
    return JSON.stringify(made);`,
    {
      answer(args) {
        const { size } = JSON.parse(args) as { readonly size: number };
        return { isOk: true, text: JSON.stringify({ text: 'é'.repeat(size) }) };
      },
    },
  );
  expect(JSON.parse(end.text)).toEqual([1, 70_000, 12_000, 'code.limit', 2, 90_000, 3]);
});
