import { describe, expect, it } from 'vitest';
import { isEventId, isHeaderText, isSessionId, Reconnecting } from './server-words.ts';

describe('words of a server that are said back to it', () => {
  it('are headers that every HTTP library sends', () => {
    expect(['', 'a b', '1~', 'ü', 'a\u0001', ' a', 'x'.repeat(8_193)].map(isEventId)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(['', 'a b', '1~', 'ü', 'x'.repeat(8_193)].map(isSessionId)).toEqual([false, false, true, false, false]);
    const texts = ['', 'a\tb c', 'ü', '→', ' a', 'a ', 'a\u0001', 'a\r\nb: c', 'a\u00A0', 'x'.repeat(8_193)];
    expect(texts.filter(isHeaderText)).toEqual(['a\tb c', 'ü', 'a\u00A0']);
  });
});

describe('coming back to a stream', () => {
  const pauses = (reconnecting: Reconnecting, count: number, between = (): void => undefined): number[] =>
    Array.from({ length: count }, () => {
      between();
      return reconnecting.next();
    });

  it('follows what the server asks for while that is no storm', () => {
    const reconnecting = new Reconnecting();
    reconnecting.ask(2_000);
    expect(pauses(reconnecting, 3, () => reconnecting.hasMoved())).toEqual([2_000, 2_000, 2_000]);
    reconnecting.ask(Infinity);
    expect(reconnecting.next()).toBe(30_000);
  });

  it('waits longer and longer for one that brings nothing, and a second at most for one that brings ids', () => {
    const silent = new Reconnecting();
    silent.ask(0);
    expect(pauses(silent, 10)).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000]);
    silent.isWell();
    expect(silent.next()).toBe(100);
    const moving = new Reconnecting();
    moving.ask(0);
    expect(pauses(moving, 6, () => moving.hasMoved())).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });
});
