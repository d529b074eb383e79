import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { endMarked, markVariable } from './leftovers.ts';

const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** Starts a process in a session of its own, as a program may leave one behind. */
async function leave(mark: string): Promise<ChildProcess> {
  const child = spawn('sleep', ['60'], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, [markVariable]: mark },
  });
  started.push(child);
  await once(child, 'spawn');
  return child;
}

it('what carries the mark of a program that has ended is ended, many programs at once, and nothing else is', async () => {
  const marks = Array.from({ length: 20 }, () => randomUUID());
  const left = await Promise.all(marks.flatMap((mark) => [leave(mark), leave(mark)]));
  const other = await leave(randomUUID());
  const ended = left.map((child) => once(child, 'exit'));
  await Promise.all(marks.map((mark) => endMarked(mark)));
  expect((await Promise.all(ended)).map(([, signal]) => signal as unknown)).toEqual(left.map(() => 'SIGKILL'));
  expect([other.exitCode, other.signalCode]).toEqual([null, null]);
});

it('a mark that nothing carries is looked for once, also while another is looked for', async () => {
  const mark = randomUUID();
  const child = await leave(mark);
  const ended = once(child, 'exit');
  await Promise.all([endMarked(mark), endMarked(randomUUID()), endMarked(randomUUID())]);
  await ended;
});
