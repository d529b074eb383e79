/** Records of calls that wait no more: the oldest of a caller go, and none of a call that still waits. */
import { expect, it } from 'vitest';
import { ApprovalBoard, MemoryBus } from '@omnibus/bus';
import type { ApprovalRecord, Principal, ServerName, WorkerId } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { Board } from './board.ts';

const record = (id: string, worker: string): ApprovalRecord => ({
  id,
  state: 'waiting',
  worker: worker as WorkerId,
  at: Date.now(),
  until: Date.now() + 60_000,
  rule: 'ask',
  server: 'bank' as ServerName,
  tool: 'pay',
  arguments: '{}',
  digest: 'd',
  principal: 'p_ann' as Principal,
  who: ['https://login.example.com|ann'],
});

it('a worker does not remove the record of a call that another one has taken over', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const log = createLogger({ level: 'silent', format: 'json' });
  const [one, other] = [new Board({ bus, log, webhook: undefined }), new Board({ bus, log, webhook: undefined })];
  const shown = await ApprovalBoard.open(bus);
  const stateOf = async (id: string): Promise<string | undefined> => (await shown.get(id))?.state;
  const ignore = (): void => undefined;
  await one.post(record('moved', 'w1'), 'ann', ignore);
  await other.takeOver('moved', 'w2' as WorkerId, 'ann', () => true, ignore);
  one.ended('moved', 'withdrawn');
  for (let each = 0; each <= 100; each += 1) {
    await one.post(record(`c${each}`, 'w1'), 'ann', ignore);
    one.ended(`c${each}`, 'withdrawn');
    await expect.poll(() => stateOf(`c${each}`)).toBe('withdrawn');
  }
  await expect.poll(() => stateOf('c0')).toBeUndefined();
  expect([await stateOf('moved'), await stateOf('c1')]).toEqual(['waiting', 'withdrawn']);
  one.stop();
  other.stop();
});
