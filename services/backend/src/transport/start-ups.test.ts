import { describe, expect, it, vi } from 'vitest';
import { StartUps } from './start-ups.ts';

const always = new AbortController().signal;

describe('start-ups of programs', () => {
  it('let as many start at once as there are places, and the others in the order of their arrival', async () => {
    const startUps = new StartUps(2, 60_000);
    const started: string[] = [];
    const start = (name: string): Promise<() => void> =>
      startUps.turn(always).then((leave) => {
        started.push(name);
        return leave;
      });
    const [first, second, third, fourth] = ['a', 'b', 'c', 'd'].map((name) => start(name));
    const leaveFirst = (await first) as () => void;
    await second;
    expect(started).toEqual(['a', 'b']);
    leaveFirst();
    leaveFirst();
    const leaveThird = (await third) as () => void;
    expect(started).toEqual(['a', 'b', 'c']);
    leaveThird();
    await fourth;
    expect(started).toEqual(['a', 'b', 'c', 'd']);
  });

  it('pass over a program that is not wanted any more', async () => {
    const startUps = new StartUps(1, 60_000);
    const leave = await startUps.turn(always);
    const stopped = new AbortController();
    const second = startUps.turn(stopped.signal);
    const third = startUps.turn(always);
    stopped.abort(new Error('the server was removed'));
    await expect(second).rejects.toThrow('the server was removed');
    leave();
    await expect(third).resolves.toBeTypeOf('function');
  });

  it('do not wait for a program that never answers', async () => {
    const startUps = new StartUps(1, 1);
    await startUps.turn(always);
    await expect(startUps.turn(always)).resolves.toBeTypeOf('function');
  });

  it('keep neither place nor timer of one that is closed before it uses its turn', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const startUps = new StartUps(1, 60_000);
    const closing = new AbortController();
    const turn = startUps.turn(closing.signal);
    const next = startUps.turn(always);
    await turn.then(() => closing.abort());
    (await next)();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
});
