import cluster, { type Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { duplexPair } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { LocalHub } from '@omnibus/bus';
import { expect, it, vi } from 'vitest';
import { Member } from './member.ts';
import { formatProblem, type ToWorker } from './messages.ts';

it('a process that does not listen yet is asked no question, so nothing waits for its answer', async () => {
  const told: ToWorker[] = [];
  const [stream] = duplexPair();
  const worker = Object.assign(new EventEmitter(), {
    process: { pid: 1, stdio: [null, null, null, null, stream] },
    isConnected: () => true,
    send: (message: ToWorker) => told.push(message),
  });
  vi.spyOn(cluster, 'setupPrimary').mockReturnValue(undefined);
  vi.spyOn(cluster, 'fork').mockReturnValue(worker as unknown as Worker);
  const hub = new LocalHub(({ what }) => expect.fail(what));
  const member = new Member(hub, { slot: 0, slots: 2, name: '0-1', sealingKeys: '' });
  expect(await Promise.race([member.ask('metrics'), setImmediate('waits')])).toBeUndefined();
  worker.emit('message', { kind: 'listening', endpoint: 'http://127.0.0.1:1/mcp', stopMs: 1 });
  const asked = member.ask('metrics');
  expect(told.map(({ kind }) => kind)).toEqual(['start', 'ask']);
  expect(told[0]).toMatchObject({ format: 1, slot: 0 });
  const { number } = told[1] as Extract<ToWorker, { readonly kind: 'ask' }>;
  worker.emit('message', { kind: 'answer', number, body: [] });
  expect(await asked).toEqual([]);
});

it('a worker serves a supervisor of its own format only', () => {
  expect(formatProblem(1, 1)).toBeUndefined();
  expect(formatProblem(1, 2)).toContain('format 1 of their messages, the worker has 2): restart omnibus serve');
});
