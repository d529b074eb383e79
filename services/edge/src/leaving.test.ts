/** How long an edge that leaves serves on. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { subjects } from '@omnibus/bus';
import { EdgeUnderTest } from './edge-under-test.ts';

const longMs = 600_000;
let test: EdgeUnderTest;
/** A client waits for an answer, which this gives. */
let answer: () => void;
let answered: Promise<Response>;

beforeEach(async () => {
  test = await EdgeUnderTest.start('timeouts: { drain: 10m }');
  const asked = Promise.withResolvers<void>();
  await test.bus.subscribe(subjects.modern(undefined), (_command, reply) => {
    answer = () =>
      reply({
        kind: 'message',
        text: JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }),
        isAnswer: true,
        sequence: undefined,
        last: true,
      });
    asked.resolve();
  });
  answered = test.postStateless({});
  await asked.promise;
});

afterEach(() => test[Symbol.asyncDispose]());

it('it waits for answers it has promised, where sessions are elsewhere', async () => {
  const order: string[] = [];
  const left = test.edge.leave(longMs).then(() => order.push('left'));
  answer();
  await answered.then(() => order.push('answered'));
  await left;
  expect(order).toEqual(['answered', 'left']);
});

it('it does not where sessions of the same process wait for them, which have that time for themselves', async () => {
  await test.edge.leave(0);
  answer();
  expect((await answered).status).toBe(200);
});
