import type { JsonRpcId } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { guarded } from './guard.ts';
import { Redactor } from './redactor.ts';
import type { RequestFailure, TransportObserver } from './transport.ts';

function observe(fails: boolean): {
  readonly hear: TransportObserver;
  readonly heard: unknown[];
  readonly failures: [JsonRpcId, RequestFailure][];
  readonly faults: unknown[];
} {
  const heard: unknown[] = [];
  const failures: [JsonRpcId, RequestFailure][] = [];
  const faults: unknown[] = [];
  const say = (...words: unknown[]): void => {
    heard.push(...words);
    if (fails) throw new Error('a bug');
  };
  const hear = guarded(
    {
      message: (value) => say(value),
      requestFailed: (id, failure) => void failures.push([id, failure]),
      sessionGone: () => say('gone'),
      missed: () => say('missed'),
      lost: (problem) => say(problem),
      takesAfterText: () => false,
      dropped: (_kind, problem) => say(problem),
    },
    new Redactor(['hunter2']),
    (error) => faults.push(error),
  );
  return { hear, heard, failures, faults };
}

it('what throws while a message is handled ends its request, and nothing else', () => {
  const { hear, heard, failures, faults } = observe(true);
  hear.message({ jsonrpc: '2.0', id: 7, result: {} }, undefined);
  hear.message({ jsonrpc: '2.0', method: 'notifications/x' }, 7);
  hear.sessionGone();
  hear.lost('broken');
  hear.dropped('invalid', 'rubbish');
  expect(heard).toHaveLength(5);
  expect(failures).toEqual([[7, { kind: 'invalid', problem: 'its answer could not be handled' }]]);
  expect(faults).toHaveLength(5);
});

it('errors pass without what we sent, also those of tools; results as they are', () => {
  const { hear, heard, failures } = observe(false);
  hear.message(
    [
      { id: 1, error: { code: 1, message: 'hunter2' } },
      { id: 2, result: { text: 'hunter2' } },
      { id: 3, result: { isError: true, content: [{ text: 'hunter2' }] } },
    ],
    undefined,
  );
  hear.requestFailed(3, {
    kind: 'refused',
    httpStatus: 400,
    problem: 'hunter2',
    error: { code: 1, message: 'x', data: ['hunter2'] },
  });
  expect(heard).toEqual([
    [
      { id: 1, error: { code: 1, message: '[secret]' } },
      { id: 2, result: { text: 'hunter2' } },
      { id: 3, result: { isError: true, content: [{ text: '[secret]' }] } },
    ],
  ]);
  expect(failures).toEqual([
    [
      3,
      { kind: 'refused', httpStatus: 400, problem: '[secret]', error: { code: 1, message: 'x', data: ['[secret]'] } },
    ],
  ]);
});
