import { describe, expect, it } from 'vitest';
import { newWorkerId, type StreamFrame, type StreamId, type WorkerId } from '@omnibus/protocol';
import { PushStreams } from './push-streams.ts';
import { TestBudget } from '../testing/home.ts';

const id = (name: string): StreamId => name as StreamId;
const [here, there] = [newWorkerId('edge'), newWorkerId('edge')];

function client(limits: { readonly maxBytes?: number; readonly maxBytesPerSession?: number } = {}) {
  const silent = new Set<WorkerId>();
  const all = new TestBudget({ maxBytes: 100_000_000, maxBytesPerSession: 100_000_000, ...limits });
  const state = { dropped: 0 };
  const push = new PushStreams({
    home: all.home(),
    onDrop: () => {
      state.dropped += 1;
    },
    isThere: (edge) => !silent.has(edge),
  });
  const heard: Record<string, string[]> = {};
  const reply =
    (name: string) =>
    (frame: StreamFrame): void =>
      void (heard[name] ??= []).push(frame.kind === 'message' ? frame.text : frame.kind);
  return { push, heard, reply, silent, state, all };
}

describe('the GET streams of a session', () => {
  it('a message goes to the stream that was opened last: an older one may be dead and not know it', () => {
    const { push, heard, reply } = client();
    push.clientReady();
    push.attach(id('old'), reply('old'), here);
    push.attach(id('new'), reply('new'), here);
    push.push('hello');
    expect(heard).toEqual({ old: ['attached'], new: ['attached', 'hello'] });
  });

  it('nothing new goes to an edge that is silent: it goes to another stream, or waits until there is one', () => {
    const { push, heard, reply, silent } = client();
    push.clientReady();
    push.attach(id('a'), reply('a'), here);
    push.attach(id('b'), reply('b'), there);
    silent.add(there);
    push.push('one');
    silent.add(here);
    push.push('two');
    push.listsChanged(['tools']);
    expect(heard).toEqual({ a: ['attached', 'one'], b: ['attached'] });
    push.attach(id('c'), reply('c'));
    expect(heard['c']?.slice(0, 1)).toEqual(['attached']);
    expect(heard['c']?.some((text) => text === 'two')).toBe(true);
    expect(heard['c']?.some((text) => text.includes('notifications/tools/list_changed'))).toBe(true);
  });

  it('a client that has not confirmed the handshake gets nothing: neither questions nor changes', () => {
    const { push, heard, reply } = client();
    push.attach(id('a'), reply('a'));
    push.push('question');
    push.listsChanged(['tools', 'prompts']);
    push.flush();
    expect(heard).toEqual({ a: ['attached'] });
    push.clientReady();
    expect(heard['a']?.length).toBe(4);
  });

  it('what waits for a stream is bounded in number and in bytes; the oldest go first, each with a count', () => {
    const { push, heard, reply, state, all } = client();
    push.clientReady();
    for (let number = 0; number < 300; number += 1) push.push(`small ${number}`);
    expect(state.dropped).toBe(44);
    for (let number = 0; number < 10; number += 1) push.push(`${number}${'x'.repeat(1_000_000)}`);
    expect(all.budget.used).toBeLessThanOrEqual(4 * 1024 * 1024);
    push.attach(id('a'), reply('a'));
    expect(heard['a']?.map((text) => text[0])).toEqual(['a', '6', '7', '8', '9']);
    expect(state.dropped).toBe(306);
  });

  it('what waits for streams is part of what a session and the process may keep', () => {
    const { push, state, all } = client({ maxBytesPerSession: 1_000 });
    push.clientReady();
    for (let number = 0; number < 10; number += 1) push.push('x'.repeat(400));
    push.push('y'.repeat(2_000));
    expect([all.budget.used, state.dropped]).toEqual([0, 11]);
    push.push('z'.repeat(300));
    expect(all.budget.used).toBe(300);
    push.endAll();
    expect(all.budget.used).toBe(0);
  });

  it('streams that are gone are let go by age, and the ones before the last four at once', () => {
    const { push, reply, all } = client();
    push.clientReady();
    for (let number = 0; number < 10; number += 1) {
      push.attach(id(`s${number}`), reply('s'));
      push.push('x'.repeat(100));
      push.detach(id(`s${number}`), id(`s${number}`));
    }
    expect([push.size, all.budget.used]).toEqual([0, 400]);
    all.pass(6 * 60_000);
    expect([all.budget.used, push.resume({ stream: id('s9'), sequence: 0 }, id('r'), reply('r'))]).toEqual([0, false]);
  });
});
