/** Sinks and checkpoints that never complete a write. */
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readCheckpointKey } from './checkpoint.ts';
import { callOf, SinkUnderTest, SyncedSinkUnderTest, trailUnderTest, verify } from './trail-under-test.ts';

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] }),
);
afterEach(() => void vi.useRealTimers());

/** A disk that does not answer a sync any more. */
class StuckSync extends SyncedSinkUnderTest {
  override sync(): Promise<void> {
    return new Promise(() => undefined);
  }

  override close(): Promise<void> {
    return new Promise(() => undefined);
  }
}

it('a write that does not end counts as failed, is not made a second time, and is good when it ends', async () => {
  const sink = new SinkUnderTest();
  sink.hold();
  const { trail, counted } = trailUnderTest([{ sink, isOptional: false }]);
  trail.record(callOf(1));
  await vi.advanceTimersByTimeAsync(14_000);
  expect(trail.behind).toMatchObject([{ isFailing: false, records: 2 }]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(trail.behind).toMatchObject([{ isFailing: true, records: 2 }]);
  expect(counted).toMatchObject({ failed: 1, recovered: 0 });
  sink.letGo();
  await vi.advanceTimersByTimeAsync(0);
  expect(trail.behind).toMatchObject([{ isFailing: false, records: 0 }]);
  expect(counted).toMatchObject({ failed: 1, recovered: 1, dropped: 0 });
  await trail.close();
  expect(verify(sink.lines).findings).toEqual([]);
});

it('a sync that does not end counts as failed, and neither it nor a close that does not end holds up the end', async () => {
  const sink = new StuckSync();
  const { trail, counted } = trailUnderTest([{ sink, isOptional: false }]);
  trail.record(callOf(1));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(trail.behind).toMatchObject([{ isFailing: true, records: 2 }]);
  expect(counted.failed).toBe(1);
  const closed = vi.fn<() => void>();
  void trail.close().then(closed);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(closed).toHaveBeenCalledOnce();
});

const nothing = (): void => undefined;

it('a checkpoint that does not end is said, is not begun again, and does not hold up the end', async () => {
  const sink = new SinkUnderTest();
  const write = vi.fn<() => Promise<void>>(() => new Promise(() => undefined));
  const checkpointFailed = vi.fn<() => void>();
  const key = readCheckpointKey(
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  );
  const { trail } = trailUnderTest([{ sink, isOptional: false }], {
    checkpoints: { key, everyMs: 60_000, write },
    observer: {
      recorded: nothing,
      dropped: nothing,
      skipped: nothing,
      wrote: nothing,
      failed: nothing,
      recovered: nothing,
      left: nothing,
      unwritten: nothing,
      checkpointFailed,
    },
  });
  for (let minute = 0; minute < 5; minute += 1) {
    trail.record(callOf(minute));
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(write).toHaveBeenCalledOnce();
  expect(checkpointFailed).toHaveBeenCalledOnce();
  const closed = vi.fn<() => void>();
  void trail.close().then(closed);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(closed).toHaveBeenCalledOnce();
});
