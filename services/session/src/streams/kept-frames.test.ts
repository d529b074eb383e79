import { describe, expect, it } from 'vitest';
import type { StreamFrame, StreamId } from '@omnibus/protocol';
import { ResumableStream } from './resumable-stream.ts';
import { StreamTable } from './stream-table.ts';
import { TestBudget } from '../testing/home.ts';

const id = (name: string): StreamId => name as StreamId;
const large = (bytes: number): string => 'x'.repeat(bytes);

/** A stream of an absent client that has ended with an answer. */
function answered(table: StreamTable, name: string, bytes: number): ResumableStream {
  const stream = new ResumableStream(id(name), () => undefined, table.home);
  table.add(stream);
  stream.detach(id(name));
  stream.send(large(bytes), true, true);
  table.ended(stream);
  return stream;
}

/** Frames for a client that comes back: texts by length; undefined for a refusal. */
function comeBack(table: StreamTable, name: string, after = 0): (number | string)[] | undefined {
  const frames: (number | string)[] = [];
  const isThere =
    table
      .find(id(name))
      ?.resume(after, id('reader'), (frame: StreamFrame) =>
        frames.push(frame.kind === 'message' ? frame.text.length : frame.kind),
      ) ?? false;
  return isThere ? frames : undefined;
}

describe('what is kept for clients that come back', () => {
  it('is bounded for one session: its oldest streams that ended are let go, and who asks for one is refused', () => {
    const all = new TestBudget({ maxBytesPerSession: 500 });
    const table = new StreamTable(all.home(), () => undefined);
    for (const name of ['a', 'b', 'c']) answered(table, name, 200);
    expect([all.budget.used, all.dropped]).toEqual([400, ['session']]);
    expect([comeBack(table, 'a'), comeBack(table, 'b'), comeBack(table, 'c')]).toEqual([
      undefined,
      ['attached', 200, 'end'],
      ['attached', 200, 'end'],
    ]);
  });

  it('is bounded for all: what rested longest goes first, whosever it is, and what is in use stays', () => {
    const all = new TestBudget({ maxBytes: 1_000 });
    const [one, two] = [new StreamTable(all.home(), () => undefined), new StreamTable(all.home(), () => undefined)];
    answered(one, 'a', 300);
    answered(two, 'b', 300);
    const open = new ResumableStream(id('open'), () => undefined, one.home);
    one.add(open);
    open.send(large(300), false, false);
    answered(two, 'c', 300);
    expect([comeBack(one, 'a'), comeBack(two, 'b')?.length, comeBack(one, 'open')]).toEqual([
      undefined,
      3,
      ['attached', 300],
    ]);
    expect(all.budget.used).toBeLessThanOrEqual(1_000);
  });

  it('a message larger than the share is delivered and not kept, and nothing else of the session is lost twice over', () => {
    const all = new TestBudget({ maxBytesPerSession: 100 });
    const table = new StreamTable(all.home(), () => undefined);
    const heard: number[] = [];
    const stream = new ResumableStream(
      id('s'),
      (frame) => frame.kind === 'message' && heard.push(frame.text.length),
      table.home,
    );
    table.add(stream);
    stream.send(large(500), false, false);
    stream.send(large(10), false, false);
    expect(heard).toEqual([500, 10]);
    // Frames after the gap stay; a position before it is refused.
    expect([comeBack(table, 's', 0), comeBack(table, 's', 1)]).toEqual([undefined, ['attached', 10]]);
    expect(all.budget.used).toBe(10);
  });

  it('is let go by age, without any other stream having to end', () => {
    const all = new TestBudget();
    const table = new StreamTable(all.home(), () => undefined);
    answered(table, 'a', 100);
    all.pass(4 * 60_000);
    expect(comeBack(table, 'a')).toEqual(['attached', 100, 'end']);
    answered(table, 'b', 100);
    all.pass(6 * 60_000);
    expect([comeBack(table, 'b'), all.budget.used]).toEqual([undefined, 100]);
  });

  it('nothing of a session is kept when it has ended', () => {
    const all = new TestBudget();
    const table = new StreamTable(all.home(), () => undefined);
    answered(table, 'a', 100);
    const open = new ResumableStream(id('open'), () => undefined, table.home);
    table.add(open);
    open.send(large(50), false, false);
    expect(all.budget.used).toBe(150);
    table.forgetAll();
    expect(all.budget.used).toBe(0);
  });
});
