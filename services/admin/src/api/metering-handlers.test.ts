import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { Blocks, MemoryBus } from '@omnibus/bus';
import type { BlockKind } from '@omnibus/protocol';
import type { AdminAccess } from '../access.ts';
import { meteringHandlers } from './metering-handlers.ts';

it('who blocks somebody or something, and who takes it back, is on record', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const blocks = await Blocks.open(bus);
  const noted: (readonly [act: string, details: unknown])[] = [];
  const access = { of: () => ({ name: 'test|ann', roles: ['operator'], facts: undefined }) } as unknown as AdminAccess;
  const handlers = meteringHandlers({
    access,
    kept: () => ({ bus, blocks }),
    hasServer: (name) => name === 'bank',
    note: (_request, act, details) => void noted.push([act, details]),
  });
  const asked = {
    request: { socket: new Socket(), headers: {} } as IncomingMessage,
    response: {} as ServerResponse,
    given: '',
    query: {},
  };
  const block = (kind: BlockKind, name: string, more: object = {}): Promise<unknown> =>
    handlers.block({ ...asked, body: { kind, name, ...more } });
  const unblock = (given: string): Promise<unknown> => handlers.unblock({ ...asked, given, body: undefined });
  for (const [kind, name] of [
    ['user', 'ann'],
    ['user', 'key:ann '],
    ['key', 'omk_3f9c21d07ab4_secret'],
    ['tool', 'pay'],
    ['tool', 'bank/'],
    ['tool', 'bank/*'],
    ['server', '*'],
  ] as const)
    await expect(block(kind, name), name).rejects.toMatchObject({
      reason: 'invalid',
      message: expect.stringMatching(/^name: (?!.*secret)/) as string,
    });
  await block('tool', 'bank/pay', { forMs: 60_000, because: 'odd' });
  expect(blocks.all).toMatchObject([{ kind: 'tool', name: 'bank/pay', by: 'test|ann', because: 'odd' }]);
  await unblock('tool:bank/pay');
  await expect(unblock('tool:bank/pay')).rejects.toMatchObject({ reason: 'unknown' }); // There is none any more.
  expect(noted).toEqual([
    ['block', { kind: 'tool', name: 'bank/pay', because: 'odd', for_ms: 60_000 }],
    ['unblock', { kind: 'tool', name: 'bank/pay' }],
  ]);
  expect(await block('server', 'bnak')).toEqual({ kind: 'server', name: 'bnak', isServerKnown: false });
  expect(await block('server', 'bank')).toEqual({ kind: 'server', name: 'bank', isServerKnown: true });
  for (const name of ['https://login.example|ann', 'key:ann', 'p_x'])
    expect(await block('user', name)).toMatchObject({ name });
  blocks.close();
});
