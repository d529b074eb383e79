/** Sessions that go from one worker to another, on a bus in memory that both share. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Audit, AuditEvent } from '@omnibus/audit';
import { catalogBucket, MemoryBus, subjects, type Subject } from '@omnibus/bus';
import { firstReply } from '@omnibus/bus/testing';
import {
  anonymous,
  catalogKey,
  newWorkerId,
  noAnnouncements,
  noLists,
  parseServerName,
  rootEndpoint,
  sessionKey,
  type AdoptReply,
  type Caller,
  type ControlCommand,
  type ExchangeEvent,
  type OpenReply,
  type SessionCommand,
  type SessionKey,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { Sealer } from '../public-ids/sealer.ts';
import type { SessionWorker } from '../worker.ts';
import { initialize, startedWorker } from '../started-worker-under-test.ts';

const caller: Caller = { principal: anonymous, endpoint: rootEndpoint };
const server = parseServerName('up');

class SharedBus extends MemoryBus {
  override readonly isShared = true;
}

let bus: MemoryBus;
let workers: SessionWorker[];
let controls: ControlCommand[];
let calls: { readonly method: string; readonly reply: (event: ExchangeEvent) => void }[];
/** Records of calls that have ended. */
let records: AuditEvent[];
let streams = 0;

const audit: Audit = {
  wantsResults: false,
  isStrict: false,
  wants: () => true,
  record: (event) => void records.push(event),
  confirm: () => Promise.resolve(true),
};

const started = (sealer: Sealer): Promise<SessionWorker> =>
  startedWorker(bus, JSON.stringify({ mcpServers: { up: { url: 'http://127.0.0.1:1/mcp' } } }), { sealer, audit });

beforeEach(async () => {
  [controls, calls, records] = [[], [], []];
  bus = new SharedBus(({ what }) => expect.fail(what));
  const sealer = new Sealer();
  workers = [await started(sealer), await started(sealer)];
  const catalog = await bus.keyValue(catalogBucket);
  await catalog.put(catalogKey(server, newWorkerId('backend')), {
    server,
    status: 'up',
    revision: '2025-11-25',
    capabilities: { logging: {}, resources: { subscribe: true } },
    announcements: noAnnouncements,
    lists: {
      ...noLists,
      tools: [{ name: 'pay', inputSchema: { type: 'object' } }],
      resources: [{ uri: 'up://one', name: 'one' }],
    },
  });
  await bus.subscribe(subjects.backendControl(server), (command) => void controls.push(command));
  await bus.subscribe(subjects.backend(server), ({ method }, reply) => void calls.push({ method, reply }), {
    queue: 'backend',
  });
});

afterEach(() => Promise.all(workers.map((worker) => worker.stop())));

const ask = <Request, Reply>(to: Subject<Request, Reply>, request: Request): Promise<Reply> =>
  firstReply(bus, to, request);

async function open(): Promise<Extract<OpenReply, { kind: 'opened' }>> {
  const opened = await ask(subjects.sessionOpen(undefined), { kind: 'open', caller, request: initialize });
  if (opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
  await ask(
    subjects.session(opened.worker),
    message(sessionKey(opened.session), { jsonrpc: '2.0', method: 'notifications/initialized' }),
  );
  return opened;
}

function message(
  key: SessionKey,
  {
    id,
    ...said
  }: {
    readonly jsonrpc: '2.0';
    readonly id?: number;
    readonly method: string;
    readonly params?: Readonly<Record<string, unknown>>;
  },
): { readonly key: SessionKey; readonly command: SessionCommand } {
  streams += 1;
  const stream = `stream-${streams}` as StreamId;
  return {
    key,
    command: {
      kind: 'post',
      caller,
      stream,
      message:
        id === undefined ? { kind: 'notification', message: said } : { kind: 'request', message: { ...said, id } },
    },
  };
}

/** The name of the other worker. */
async function other(holder: WorkerId): Promise<WorkerId> {
  const names = new Set<WorkerId>();
  await vi.waitFor(
    async () => {
      const { worker } = await open();
      names.add(worker);
      expect([...names].some((name) => name !== holder)).toBe(true);
    },
    { timeout: 45_000 },
  );
  return [...names].find((name) => name !== holder) as WorkerId;
}

const ping = (key: SessionKey) => message(key, { jsonrpc: '2.0', id: 2, method: 'ping' });

describe('a session that another worker takes over', () => {
  it('is held by one of them: the first gives it up, and says so', async () => {
    const { session, worker } = await open();
    const key = sessionKey(session);
    const next = await other(worker);
    expect(await ask(subjects.sessionAdopt(next), { key, lost: worker })).toEqual({
      outcome: 'held',
      worker: next,
    } satisfies AdoptReply);
    expect(await ask(subjects.session(next), ping(key))).toMatchObject({ kind: 'message', isAnswer: true });
    await expect.poll(() => ask(subjects.session(worker), ping(key))).toEqual({ kind: 'moved' });
    // A request to the first gets the present owner.
    expect(await ask(subjects.sessionAdopt(worker), { key, lost: undefined })).toEqual({
      outcome: 'held',
      worker: next,
    });
  });

  it('goes on with its log level and its subscriptions, of which an adapter that comes is told again', async () => {
    const { session, worker } = await open();
    const key = sessionKey(session);
    const level = ask(
      subjects.session(worker),
      message(key, { jsonrpc: '2.0', id: 3, method: 'logging/setLevel', params: { level: 'warning' } }),
    );
    const subscription = ask(
      subjects.session(worker),
      message(key, { jsonrpc: '2.0', id: 4, method: 'resources/subscribe', params: { uri: 'up://one' } }),
    );
    await expect.poll(() => calls.map(({ method }) => method)).toContain('resources/subscribe');
    for (const { reply } of calls.splice(0)) reply({ kind: 'result', result: {} });
    expect(await Promise.all([level, subscription])).toEqual(
      [3, 4].map((id) => expect.objectContaining({ text: `{"jsonrpc":"2.0","id":${id},"result":{}}` })),
    );
    const next = await other(worker);
    await ask(subjects.sessionAdopt(next), { key, lost: worker });
    controls.length = 0;
    bus.publish(subjects.notices, { kind: 'adapter-changed', server });
    await expect.poll(() => calls.map(({ method }) => method)).toEqual(['resources/subscribe']);
    expect(controls).toContainEqual({ kind: 'log-level', session: key, level: 'warning' });
  });

  it('tells its client of each resource it is subscribed to, which may have changed while nobody heard it', async () => {
    const { session, worker } = await open();
    const key = sessionKey(session);
    const subscription = ask(
      subjects.session(worker),
      message(key, { jsonrpc: '2.0', id: 3, method: 'resources/subscribe', params: { uri: 'up://one' } }),
    );
    await expect.poll(() => calls).toHaveLength(1);
    calls[0]?.reply({ kind: 'result', result: {} });
    await subscription;
    const next = await other(worker);
    await ask(subjects.sessionAdopt(next), { key, lost: worker });
    streams += 1;
    const frames: StreamFrame[] = [];
    bus.request(
      subjects.session(next),
      { key, command: { kind: 'attach', caller, stream: `stream-${streams}` as StreamId, after: undefined } },
      { reply: (frame) => void frames.push(frame), failed: () => undefined },
    );
    await expect
      .poll(() => frames)
      .toContainEqual(
        expect.objectContaining({
          text: '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"up://one"}}',
        }),
      );
  });

  it('sends the streams that clients read at the first to the next', async () => {
    const { session, worker } = await open();
    const key = sessionKey(session);
    const frames: StreamFrame[] = [];
    streams += 1;
    bus.request(
      subjects.session(worker),
      { key, command: { kind: 'attach', caller, stream: `stream-${streams}` as StreamId, after: undefined } },
      { reply: (frame) => void frames.push(frame), failed: () => undefined },
    );
    await expect.poll(() => frames).toHaveLength(1);
    const next = await other(worker);
    await ask(subjects.sessionAdopt(next), { key, lost: worker });
    await expect.poll(() => frames.at(-1)).toEqual({ kind: 'moved' });
  });

  it('leaves a call that a server has to the next: the first neither answers nor cancels it, and its record says that it has moved', async () => {
    const { session, worker } = await open();
    const key = sessionKey(session);
    const frames: StreamFrame[] = [];
    const call = message(key, { jsonrpc: '2.0', id: 6, method: 'tools/call', params: { name: 'pay' } });
    bus.request(subjects.session(worker), call, {
      reply: (frame) => void frames.push(frame),
      failed: () => undefined,
    });
    await expect.poll(() => calls.map(({ method }) => method)).toEqual(['tools/call']);
    const next = await other(worker);
    await ask(subjects.sessionAdopt(next), { key, lost: worker });
    await expect.poll(() => ask(subjects.session(worker), ping(key))).toEqual({ kind: 'moved' });
    // The edge asks after it, and sends it to the next with its age.
    const streams = [(call.command as Extract<SessionCommand, { kind: 'post' }>).stream];
    expect(await ask(subjects.session(worker), { key, command: { kind: 'probe', streams } })).toEqual({
      kind: 'moved',
    });
    expect([frames, controls.filter(({ kind }) => kind === 'cancel')]).toEqual([[], []]);
    expect(records.filter(({ method }) => method === 'tools/call')).toMatchObject([
      { outcome: 'unknown', more: { moved: true } },
    ]);
  });

  it('leaves a call that it asks the backend workers about to the next, which makes it once if none of them has it', async () => {
    const backend = newWorkerId('backend');
    const asked: (() => void)[] = [];
    let isSlow = true;
    await bus.subscribe(subjects.backendAttach(backend), (_question, reply) => {
      const answer = (): void => reply({ kind: 'seen', state: 'never' });
      if (isSlow) asked.push(answer);
      else answer();
    });
    const { session, worker } = await open();
    const key = sessionKey(session);
    const call = message(key, { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'pay' } });
    const post = call.command as Extract<SessionCommand, { kind: 'post' }>;
    const sent = (turn: number) => ({
      key,
      command: { ...post, begun: { ageMs: 100, turn, backends: [backend], areAll: true } },
    });
    const frames: StreamFrame[] = [];
    bus.request(subjects.session(worker), sent(1), {
      reply: (frame) => void frames.push(frame),
      failed: () => undefined,
    });
    await expect.poll(() => asked.length).toBeGreaterThan(0);
    const next = await other(worker);
    await ask(subjects.sessionAdopt(next), { key, lost: worker });
    await expect.poll(() => ask(subjects.session(worker), ping(key))).toEqual({ kind: 'moved' });
    // The edge asks after it, and sends it to the next.
    expect(await ask(subjects.session(worker), { key, command: { kind: 'probe', streams: [post.stream] } })).toEqual({
      kind: 'moved',
    });
    expect(frames).toEqual([]);
    isSlow = false;
    for (const answer of asked) answer();
    const answered = ask(subjects.session(next), sent(2));
    await expect.poll(() => calls.map(({ method }) => method)).toEqual(['tools/call']);
    calls[0]?.reply({ kind: 'result', result: { content: [] } });
    expect(await answered).toMatchObject({ kind: 'message', isAnswer: true });
    expect([frames, calls.length, controls.filter(({ kind }) => kind === 'cancel')]).toEqual([[], 1, []]);
  });
});
