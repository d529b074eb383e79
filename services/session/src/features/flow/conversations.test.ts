/** Records of conversations without sessions: they go when their conversation is over, and one caller does not fill the bucket. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { conversationsBucket, MemoryBus } from '@omnibus/bus';
import type { ConversationLabel, ConversationRecord, ServerName } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { callerOf } from '../../worker-under-test.ts';
import type { Speaker } from './conversation.ts';
import { Conversations } from './conversations.ts';
import { WrittenConversations } from './written.ts';

const hourMs = 3_600_000;
const labels: readonly ConversationLabel[] = [
  { label: 'untrusted', server: 'web' as ServerName, item: 'read', rule: 'from-web', at: 1 },
];
let bus: MemoryBus;

function opened(): Conversations {
  const log = createLogger({ level: 'silent', format: 'json' });
  return new Conversations({ bus, log, proofs: undefined, labelled: () => undefined });
}

/** A request without a session. */
function speaker(who: string, client: string): Speaker {
  return { asking: callerOf(who), session: undefined, info: { name: client, version: '1' } };
}

async function clients(): Promise<readonly string[]> {
  const found: string[] = [];
  const bucket = await bus.keyValue(conversationsBucket);
  const watch = await bucket.watch((change) => change.kind === 'put' && found.push(String(change.value.client)));
  watch.close();
  return found.toSorted();
}

beforeEach(() => {
  bus = new MemoryBus(({ what }) => expect.fail(what));
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('a conversation that is over leaves nothing, and one that continues keeps its labels', async () => {
  const [one, other] = [opened(), opened()];
  for (const client of ['first', 'second', 'third']) expect(await one.add(speaker('ann', client), labels)).toBe(true);
  vi.setSystemTime(Date.now() + hourMs / 2);
  // Another worker serves a call of the second.
  expect(await other.read(speaker('ann', 'second'))).toMatchObject({ conversation: expect.any(String) as string });
  vi.setSystemTime(Date.now() + hourMs / 2 + 1);
  await one.add(speaker('bob', 'fourth'), labels);
  await vi.waitFor(async () => expect(await clients()).toEqual(['fourth', 'second']));
  vi.setSystemTime(Date.now() + hourMs);
  await one.add(speaker('bob', 'fifth'), labels);
  await vi.waitFor(async () => expect(await clients()).toEqual(['fifth']));
});

it('a bucket that is full of conversations that are over has room for a new one', async () => {
  const bucket = await bus.keyValue(conversationsBucket);
  const left: Omit<ConversationRecord, 'id'> = { kind: 'caller', principal: 'p', endpoint: '', labels, until: 1 };
  for (let each = 0; each < 4; each += 1)
    await bucket.put(`c${each}`, { ...left, id: `c${each}`, client: 'x'.repeat(16_777_000) });
  // Two at the same time share the removal.
  const one = opened();
  const added = ['new', 'other'].map((client) => one.add(speaker('ann', client), labels));
  expect(await Promise.all(added)).toEqual([true, true]);
  expect(await clients()).toEqual(['new', 'other']);
});

it('one caller has so many conversations in an hour and no more, and others have theirs', () => {
  const written = new WrittenConversations();
  for (let each = 0; each < 10_000; each += 1) written.wrote(`c${each}`, { who: 'ann', until: each });
  expect([written.isFull('ann', 'new', -1), written.isFull('ann', 'c7', -1), written.isFull('bob', 'new', -1)]).toEqual(
    [true, false, false],
  );
  written.wrote('c0', { who: 'ann', until: 20_000 });
  expect(written.due(2).map(([id]) => id)).toEqual(['c1', 'c2']);
  written.forget('c1');
  expect(written.isFull('ann', 'new', -1)).toBe(false);
});

it('a caller at its bound begins conversations again when those that it has are over', async () => {
  const one = opened();
  for (let each = 0; each < 10_000; each += 1) await one.add(speaker('ann', `c${each}`), labels);
  expect(await one.add(speaker('ann', 'more'), labels)).toBe(false);
  vi.setSystemTime(Date.now() + hourMs + 1);
  expect(await one.add(speaker('ann', 'more'), labels)).toBe(true);
  await vi.waitFor(async () => expect(await clients()).toEqual(['more']));
});
