import { describe, expect, it } from 'vitest';
import type { StreamFrame, StreamId, WorkerId } from '@omnibus/protocol';
import { homeOf, TestBudget } from '../testing/home.ts';
import { ResumableStream } from './resumable-stream.ts';

const id = (name: string): StreamId => name as StreamId;

function reader() {
  const frames: StreamFrame[] = [];
  return {
    frames,
    reply: (frame: StreamFrame): void => void frames.push(frame),
    texts: () =>
      frames.flatMap((frame) => (frame.kind === 'message' ? [`${frame.sequence}:${frame.text}`] : [frame.kind])),
  };
}

describe('a resumable stream', () => {
  it('replays what follows the last event seen, under the same numbers, and goes on', () => {
    const [first, second] = [reader(), reader()];
    const stream = new ResumableStream(id('s'), first.reply, homeOf());
    for (const text of ['a', 'b', 'c']) stream.send(text, false, false);
    stream.detach(id('s'));
    stream.send('d', false, false);
    expect(stream.resume(2, id('r'), second.reply)).toBe(true);
    stream.send('e', true, true);
    expect(first.texts()).toEqual(['1:a', '2:b', '3:c']);
    expect(second.texts()).toEqual(['attached', '3:c', '4:d', '5:e']);
  });

  it('replays and ends when it ended meanwhile', () => {
    const [first, second] = [reader(), reader()];
    const stream = new ResumableStream(id('s'), first.reply, homeOf());
    stream.detach(id('s'));
    stream.send('answer', true, true);
    expect(stream.resume(0, id('r'), second.reply)).toBe(true);
    expect(second.texts()).toEqual(['attached', '1:answer', 'end']);
  });

  it('keeps nothing that comes after its end', () => {
    const { budget } = new TestBudget();
    const stream = new ResumableStream(id('s'), reader().reply, { share: budget.share(), keeper: undefined });
    stream.end();
    stream.send('late', false, false);
    expect(budget.used).toBe(0);
  });

  it('takes an answer without its bytes only if it is the first message, and a client reads it', () => {
    const stream = new ResumableStream(id('s'), reader().reply, homeOf());
    expect(stream.takesAway).toBe(true);
    stream.send('progress', false, false);
    expect(stream.takesAway).toBe(false);
    const left = new ResumableStream(id('s'), reader().reply, homeOf());
    left.detach(id('s'));
    expect(left.takesAway).toBe(false);
  });

  it('releases its reader, and the request that the reader holds, with the last message', () => {
    const first = reader();
    const stream = new ResumableStream(id('s'), first.reply, homeOf(), 0, 'edge-1' as WorkerId);
    stream.send('answer', true, true);
    expect(stream.edge).toBeUndefined();
    stream.move();
    expect(first.texts()).toEqual(['1:answer']);
  });

  it('counts its requests while nobody reads it, and no longer than that', () => {
    const home = homeOf();
    const stream = new ResumableStream(id('s'), reader().reply, home);
    stream.asked = { length: 700, digest: undefined, giveUp: () => expect.fail('there is room') };
    expect(home.share.used).toBe(0);
    stream.detach(id('s'));
    expect(home.share.used).toBe(700);
    stream.resume(0, id('r'), reader().reply);
    expect(home.share.used).toBe(0);
    stream.detach(id('r'));
    stream.send('answer', true, true);
    expect(home.share.used).toBe('answer'.length);
  });

  it('gives its requests up when nobody reads it and there is no room for them', () => {
    const home = new TestBudget({ maxBytesPerSession: 600 }).home();
    const stream = new ResumableStream(id('s'), reader().reply, home);
    let given = 0;
    stream.asked = { length: 700, digest: undefined, giveUp: () => (given += 1) };
    expect(given).toBe(0);
    stream.detach(id('s'));
    expect([given, home.share.used]).toEqual([1, 0]);
  });

  it('has one reader: a new one takes over, and late news of the old one changes nothing', () => {
    const [first, second] = [reader(), reader()];
    const stream = new ResumableStream(id('s'), first.reply, homeOf());
    stream.send('a', false, false);
    stream.resume(1, id('r'), second.reply);
    expect(stream.detach(id('s'))).toBe(false);
    stream.send('b', false, false);
    expect(first.texts()).toEqual(['1:a', 'end']);
    expect(second.texts()).toEqual(['attached', '2:b']);
  });

  it('refuses a reader rather than give it a gap', () => {
    const stream = new ResumableStream(id('s'), reader().reply, homeOf());
    for (let number = 0; number < 300; number += 1) stream.send(String(number), false, false);
    expect(stream.resume(10, id('r'), reader().reply)).toBe(false);
    expect(stream.resume(301, id('r'), reader().reply)).toBe(false);
    expect(stream.resume(250, id('r'), reader().reply)).toBe(true);
  });
});
