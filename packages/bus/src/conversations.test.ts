/** Labels of a conversation that many results add at once. */
import type { ConversationLabel, ServerName } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { ConversationBoard, LabelProblem, type ConversationOf } from './conversations.ts';
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
  expect(added.every(({ record }) => record.labels.length === 1)).toBe(true);
  expect(added.filter((each) => each.added.length === 1)).toHaveLength(1);
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

it('a cleared label is gone, the others stay, and it can be added again', async () => {
  const { board } = await opened();
  await board.add(of, [untrusted, { ...untrusted, label: 'private' }], 60_000);
  const { cleared } = await board.clear(of.id, 'untrusted', () => undefined);
  expect(cleared).toEqual(untrusted);
  const labelsNow = async (): Promise<unknown> => (await board.keep(of, 60_000))?.labels.map(({ label }) => label);
  expect(await labelsNow()).toEqual(['private']);
  await expect(board.clear(of.id, 'untrusted', () => undefined)).rejects.toThrow('does not have the label "untrusted"');
  await expect(board.clear('s2', 'private', () => undefined)).rejects.toThrow('no conversation s2');
  const refusal = new LabelProblem('forbidden', 'not yours');
  await expect(board.clear(of.id, 'private', () => refusal)).rejects.toBe(refusal);
  await board.add(of, [untrusted], 60_000);
  expect(await labelsNow()).toEqual(['private', 'untrusted']);
});

it('a label that is cleared while many results add another one is cleared, and none of the others is lost', async () => {
  const { board } = await opened();
  await board.add(of, [untrusted], 60_000);
  const names = Array.from({ length: 9 }, (_, index) => `label ${index}`);
  await Promise.all([
    board.clear(of.id, 'untrusted', () => undefined),
    ...names.map((label) => board.add(of, [{ ...untrusted, label }], 60_000)),
  ]);
  const seen: string[] = [];
  await board.each(({ labels }) => seen.push(...labels.map(({ label }) => label)));
  expect(seen.toSorted()).toEqual(names);
});
