import { mkdtemp, rm } from 'node:fs/promises';
import { statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { FileLock } from './file-lock.ts';

it('a lock that is kept does not grow old while its process waits for somebody, and does afterwards', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-lock-'));
  onTestFinished(async () => {
    vi.useRealTimers();
    await rm(folder, { recursive: true });
  });
  const path = join(folder, 'tokens.json.lock');
  const lock = await FileLock.take(path);
  const release = lock.keep();
  const hasGrownOld = (): boolean => {
    utimesSync(path, 0, 0);
    vi.advanceTimersByTime(60_000);
    return statSync(path).mtimeMs === 0;
  };
  expect(hasGrownOld()).toBe(false);
  release();
  expect([hasGrownOld(), lock.isHeld]).toEqual([true, true]);
  const other = await FileLock.take(path);
  expect([lock.isHeld, other.isHeld]).toEqual([false, true]);
  lock.leave();
  expect(other.isHeld).toBe(true);
});
