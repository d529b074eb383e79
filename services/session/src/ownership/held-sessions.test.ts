import { describe, expect, it } from 'vitest';
import { anonymous, type Principal, type SessionKey } from '@omnibus/protocol';
import { HeldSessions, type Missable } from './held-sessions.ts';

interface Scripted extends Missable {
  isUsed: boolean;
  keptBytes: number;
  /** Undefined while something is open. */
  activeAt: number | undefined;
}

const session = (key: string, more: Partial<Scripted> = {}): Scripted => {
  const made: Scripted = {
    key: key as SessionKey,
    caller: { principal: anonymous },
    isUsed: false,
    keptBytes: 0,
    activeAt: 0,
    idleMs: (now) => (made.activeAt === undefined ? 0 : now - made.activeAt),
    ...more,
  };
  return made;
};

function tableOf(...sessions: readonly Scripted[]): HeldSessions<Scripted> {
  const table = new HeldSessions<Scripted>();
  for (const each of sessions) table.add(each);
  return table;
}

/** Ended sessions, in order, until all others are in use. */
function shed(table: HeldSessions<Scripted>, now: number): string[] {
  const ended: string[] = [];
  for (let spare = table.spare(now); spare !== undefined; spare = table.spare(now)) {
    ended.push(`${spare.kind} ${spare.session.key}`);
    table.remove(spare.session);
  }
  return ended;
}

const minute = 60_000;

describe('the sessions of a worker', () => {
  it('that were never used are missed least, the oldest first, then those idle for longest; one in use is never ended', () => {
    const table = tableOf(
      session('busy', { isUsed: true, activeAt: undefined }),
      session('idle', { isUsed: true, activeAt: 2 * minute }),
      session('older', { isUsed: true, activeAt: minute }),
      session('unused-1'),
      session('streaming', { activeAt: undefined }),
      session('unused-2'),
      session('recent', { isUsed: true, activeAt: 9.5 * minute }),
    );
    expect(shed(table, 10 * minute)).toEqual(['unused unused-1', 'unused unused-2', 'idle older', 'idle idle']);
    expect([...table.sessions()].map(({ key }) => key)).toEqual(['busy', 'streaming', 'recent']);
  });

  it('one that is used while it waits to be ended is passed over', () => {
    const [one, two, three] = [session('one', { isUsed: true }), session('two', { isUsed: true }), session('three')];
    const table = tableOf(one, two, three);
    three.isUsed = true;
    expect(table.spare(10 * minute)?.session.key).toBeDefined();
    two.activeAt = undefined;
    three.activeAt = 10 * minute;
    expect(shed(table, 10 * minute).filter((name) => name !== 'idle one')).toEqual([]);
  });

  it('are counted by caller only where it is known who calls', () => {
    const table = tableOf(session('a'), session('b'), session('c', { caller: { principal: 'ann' as Principal } }));
    expect([table.of(anonymous), table.of('ann' as Principal)]).toEqual([0, 1]);
    table.remove([...table.sessions()].at(-1) as Scripted);
    expect(table.of('ann' as Principal)).toBe(0);
  });

  it('are weighed, whatever they grow and shrink by, and weigh nothing when they are gone', () => {
    const [one, two] = [session('one', { keptBytes: 10 }), session('two', { keptBytes: 5 })];
    const table = tableOf(one, two);
    for (const each of [one, two, two]) table.weigh(each);
    expect(table.bytes).toBe(15);
    one.keptBytes = 100;
    table.weigh(one);
    table.remove(two);
    expect(table.bytes).toBe(100);
    table.remove(one);
    expect([table.bytes, table.size, table.remove(one)]).toEqual([0, 0, false]);
  });

  it('are found quickly where twenty thousand were opened and none was used', () => {
    const table = tableOf(...Array.from({ length: 20_000 }, (_, index) => session(`s${index}`)));
    expect(shed(table, minute).length).toBe(20_000);
  });
});
