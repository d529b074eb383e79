import { expect, it } from 'vitest';
import { newWorkerId } from '@omnibus/protocol';
import { askOnce } from './ask-once.ts';
import { MemoryBus } from './memory/bus.ts';
import { subjects } from './subjects.ts';

const worker = newWorkerId('session');
const noFault = (fault: unknown): never => expect.unreachable(String(fault));

it('gives the first reply, the failure where nothing listens, and says when the time is over', async () => {
  const bus = new MemoryBus(noFault);
  const clock = { schedule: (_ms: number, run: () => void) => ((over = run), { cancel: () => (cancelled += 1) }) };
  let over = (): void => undefined;
  let [cancelled, closed] = [0, 0];
  const request: MemoryBus['request'] = (...asked) => {
    const pending = bus.request(...asked);
    return { close: () => ((closed += 1), pending.close()) };
  };
  const ask = (): ReturnType<typeof askOnce> =>
    askOnce({ bus: { request }, clock }, subjects.modernHolds(worker), { keys: [] }, 1_000);
  expect(await ask()).toMatchObject({ kind: 'no-responders' });
  const listening = await bus.subscribe(subjects.modernHolds(worker), (asked, reply) => {
    reply(asked);
    reply({ keys: [] });
  });
  expect(await ask()).toEqual({ keys: [] });
  listening.close();
  await bus.subscribe(subjects.modernHolds(worker), () => undefined);
  const silent = ask();
  over();
  expect([await silent, cancelled, closed]).toEqual(['late', 3, 3]);
});
