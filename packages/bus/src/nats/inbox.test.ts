import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { subjects } from '../subjects.ts';
import type { Fetches } from './claims.ts';
import { Inbox } from './inbox.ts';

setFlagsFromString('--expose-gc');
const collectYoung = runInNewContext('() => gc({ type: "minor" })') as () => void;

it('a request that has ended leaves nothing to the old generation', () => {
  const inbox = new Inbox(undefined, {} as Fetches, (fault) => expect.fail(fault.what));
  /** Each has an observer that holds a kilobyte. */
  const requests = (count: number): void => {
    for (let made = 0; made < count; made += 1) {
      const call = Array.from({ length: 128 }, () => made);
      const pending = inbox.open(subjects.sessionOpen(undefined), { reply: () => call, failed: () => call });
      pending.close();
    }
  };
  const left = (): number => {
    collectYoung();
    collectYoung();
    return process.memoryUsage().heapUsed;
  };
  requests(1_000);
  const before = left();
  requests(20_000);
  expect(left() - before).toBeLessThan(5_000_000);
});
