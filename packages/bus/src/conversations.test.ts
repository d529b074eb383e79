/** Labels of a conversation that many results add at once. */
import type { ConversationLabel, ServerName } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { ConversationBoard, type ConversationOf } from './conversations.ts';
import { MemoryBus } from './memory/bus.ts';
import { conversationsBucket } from './subjects.ts';

const of: ConversationOf = { id: 's1', kind: 'session', principal: 'p_ann', endpoint: '' };
const untrusted: ConversationLabel = {
  label: 'untrusted',
  server: 'web' as ServerName,
  item: 'read',
  rule: 'from-web',
  at: 1,
};

async function opened(): Promise<{ readonly board: ConversationBoard; readonly revision: () => Promise<unknown> }> {
  const bus = new MemoryBus((fault) => expect.fail(fault.what));
  const bucket = await bus.keyValue(conversationsBucket);
  return { board: await ConversationBoard.open(bus), revision: async () => (await bucket.get(of.id))?.revision };
}

it('many results at once add their label, and none is refused', async () => {
  const { board } = await opened();
  const added = await Promise.all(Array.from({ length: 50 }, () => board.add(of, [untrusted], 60_000)));
  expect(added.every(({ labels }) => labels.length === 1)).toBe(true);
});

it('a label that the conversation has is not written again, until its time is a quarter over', async () => {
  const { board, revision } = await opened();
  await board.add(of, [untrusted], 60_000);
  const before = await revision();
  await board.add(of, [untrusted], 60_000);
  expect(await revision()).toBe(before);
  await board.add(of, [untrusted], 600_000);
  expect(await revision()).not.toBe(before);
});
