/** Clients that come back to a stream that another worker began: with a scripted worker and a clock of the test. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryBus, openStreamJournal, PresenceWatch, subjects, type Journal } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  newWorkerId,
  ownFormats,
  presenceMs,
  requestStream,
  type HeldStreams,
  type JsonObject,
  type Limits,
  type Presence,
  type SessionKey,
  type StreamEntry,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { PushStreams } from './push-streams.ts';
import { Returning } from './returning.ts';
import { StreamTable } from './stream-table.ts';
import { homeOf } from '../testing/home.ts';

const key = 'session' as SessionKey;
const stream = requestStream('edge-1' as StreamId, 7);
const log = createLogger({ level: 'silent', format: 'json' });
const drainMs = 30_000;

let bus: MemoryBus;
let wheel: DeadlineWheel;
let watch: PresenceWatch<Presence>;
let journal: Journal<StreamEntry>;
/** Workers that run, and give their signs. */
let running: WorkerId[];
let before: WorkerId;
let waiting: (() => void)[];

beforeEach(async () => {
  vi.useFakeTimers();
  bus = new MemoryBus(({ what }) => expect.fail(what));
  wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  watch = new PresenceWatch<Presence>({
    bus,
    clock: wheel,
    subject: subjects.presence,
    joined: () => undefined,
    gone: () => undefined,
    disturbed: () => undefined,
  });
  await watch.start();
  journal = (await openStreamJournal(bus, log)) as Journal<StreamEntry>;
  [before, waiting] = [newWorkerId('session'), []];
  running = [newWorkerId('session'), before];
  await pass(1_000);
});

afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

/** Lets time pass in which workers that run give their signs, and everything be delivered. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += presenceMs) {
    for (const worker of running)
      bus.publish(subjects.presence, { worker, formats: ownFormats, isLeaving: false, reconnects: 0 });
    await vi.advanceTimersByTimeAsync(presenceMs);
  }
}

/** The earlier owner reports its open requests; while it is paused, only later. */
function asked(held: readonly StreamId[]): Promise<unknown> {
  return bus.subscribe(
    subjects.sessionStreams(before),
    ({ streams }: HeldStreams, reply: (answer: HeldStreams) => void) => {
      const answer = (): void => reply({ key, streams: streams.filter((each) => held.includes(each)) });
      if (running.includes(before)) answer();
      else waiting.push(answer);
    },
  );
}

function pause(): void {
  running = running.filter((worker) => worker !== before);
}

function goOn(): void {
  running.push(before);
  for (const answer of waiting.splice(0)) answer();
}

const messageOf = (sequence: number, message: JsonObject): StreamEntry => ({
  kind: 'sent',
  sequence,
  text: JSON.stringify(message),
  isAnswer: 'id' in message,
  last: 'id' in message,
});
const answer = { jsonrpc: '2.0', id: 7, result: { real: true } };

/** The client comes back for what follows the first message of the stream. */
async function comeBack({
  sequence = 1,
  read = journal,
}: { readonly sequence?: number; readonly read?: Journal<StreamEntry> } = {}): Promise<unknown[]> {
  const home = homeOf();
  const returning = new Returning({
    key,
    heldBefore: () => before,
    host: {
      bus,
      wheel,
      log,
      streams: read,
      sessionWorkers: watch,
      drainMs: () => drainMs,
      limits: { maxStreamsPerSession: 4 } as Limits,
      metrics: new Metrics({ processMetrics: false }),
    },
    posts: new StreamTable(home, () => undefined),
    push: new PushStreams({ home, onDrop: () => undefined, isThere: () => true }),
  });
  journal.append(subjects.stream(key, stream), { kind: 'opened', requests: [7] });
  journal.append(subjects.stream(key, stream), messageOf(1, { jsonrpc: '2.0', method: 'notifications/progress' }));
  const heard: unknown[] = [];
  returning.resume(
    { stream, sequence },
    'edge-2' as StreamId,
    (frame: StreamFrame) => heard.push(frame.kind === 'message' ? JSON.parse(frame.text) : frame.kind),
    undefined,
  );
  await vi.advanceTimersByTimeAsync(0);
  return heard;
}

/** The journal, of which the first reading lacks some events, since they are stored a moment later. */
function hiding(isHidden: (entry: Extract<StreamEntry, { kind: 'sent' }>) => boolean): Journal<StreamEntry> {
  let readings = 0;
  return {
    append: (to, entry) => journal.append(to, entry),
    follow: (of, observer) => {
      readings += 1;
      const isFirst = readings === 1;
      return journal.follow(of, (entry) =>
        isFirst && entry.kind === 'sent' && isHidden(entry) ? undefined : observer(entry),
      );
    },
  };
}

const interrupted = expect.objectContaining({
  id: 7,
  error: expect.objectContaining({ data: expect.objectContaining({ reason: 'gateway.interrupted' }) }),
});

describe('a client that comes back to a stream of another worker', () => {
  it('has its answer when that worker was only paused: that it says nothing does not mean that it has nothing', async () => {
    await asked([stream]);
    pause();
    const heard = await comeBack();
    await pass(3_000);
    expect(heard).toEqual(['attached']);
    goOn();
    await pass(1_000);
    journal.append(subjects.stream(key, stream), messageOf(2, answer));
    await pass(500);
    expect(heard).toEqual(['attached', answer, 'end']);
  });

  it('is told at once that nobody knows its answer when that worker says that it works on it no more', async () => {
    await asked([]);
    const heard = await comeBack();
    await pass(0);
    expect(heard).toEqual(['attached', interrupted, 'end']);
  });

  it('is told so when that worker is proven gone, and not before', async () => {
    await asked([stream]);
    pause();
    const heard = await comeBack();
    await pass(3_000);
    expect(heard).toEqual(['attached']);
    await pass(3_000);
    expect(heard).toEqual(['attached', interrupted, 'end']);
  });

  it('is told so soon when nobody listens where that worker was, and it gives no sign', async () => {
    pause();
    await pass(3_000);
    const heard = await comeBack();
    await pass(4_000);
    expect(heard).toEqual(['attached', interrupted, 'end']);
  });

  it('is told so when a worker that works on it does not end in the time that workers have to leave', async () => {
    await asked([stream]);
    const heard = await comeBack();
    await pass(drainMs - 1_000);
    expect(heard).toEqual(['attached']);
    await pass(2_000);
    expect(heard).toEqual(['attached', interrupted, 'end']);
  });

  it('goes on where it was when what it received last is stored only a moment later', async () => {
    await asked([stream]);
    const heard = await comeBack({ sequence: 2 });
    journal.append(subjects.stream(key, stream), messageOf(2, { jsonrpc: '2.0', method: 'notifications/progress' }));
    await pass(500);
    journal.append(subjects.stream(key, stream), messageOf(3, answer));
    await pass(500);
    expect(heard).toEqual(['attached', answer, 'end']);
  });

  it('has the answer that was on its way to the journal when that was read, though that worker works on it no more', async () => {
    await asked([]);
    const read = hiding(({ sequence }) => sequence > 1);
    const returned = comeBack({ read });
    journal.append(subjects.stream(key, stream), messageOf(2, answer));
    const heard = await returned;
    await pass(1_000);
    expect(heard).toEqual(['attached', answer, 'end']);
  });

  it('has all events in their order when one of them was on its way to the journal when that was read', async () => {
    await asked([stream]);
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 2 } };
    const read = hiding(({ sequence }) => sequence === 2);
    const heard = await comeBack({ read });
    journal.append(subjects.stream(key, stream), messageOf(2, progress));
    journal.append(subjects.stream(key, stream), messageOf(3, answer));
    await pass(1_000);
    expect(heard).toEqual(['attached', progress, answer, 'end']);
  });

  it('has all events in their order when one of them was on its way, and later ones came while the journal was read', async () => {
    await asked([stream]);
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 2 } };
    journal.append(subjects.stream(key, stream), messageOf(1, { jsonrpc: '2.0', method: 'notifications/progress' }));
    journal.append(subjects.stream(key, stream), messageOf(2, progress));
    journal.append(subjects.stream(key, stream), messageOf(3, answer));
    const heard = await comeBack({ read: hiding(({ sequence }) => sequence === 2) });
    await pass(1_000);
    expect(heard).toEqual(['attached', progress, answer, 'end']);
  });
});
