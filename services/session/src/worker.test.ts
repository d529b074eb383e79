import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryBus, subjects, type BusError, type Subject } from '@omnibus/bus';
import { configOf } from '@omnibus/config/testing';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  rootEndpoint,
  sessionKey,
  type Caller,
  type OpenReply,
  type SessionCommand,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { createSessionWorker } from './create.ts';
import type { SessionWorker } from './worker.ts';

const caller: Caller = { principal: anonymous, endpoint: rootEndpoint };

describe('a session worker', () => {
  let bus: MemoryBus;
  let worker: SessionWorker;
  let faults: string[];

  beforeEach(async () => {
    faults = [];
    bus = new MemoryBus(({ what }) => void faults.push(what));
    const wheel = new DeadlineWheel({
      onFault: (error) => {
        throw error;
      },
    });
    worker = await createSessionWorker({
      config: configOf('{}'),
      bus,
      wheel,
      log: createLogger({ level: 'silent', format: 'json' }),
      metrics: new Metrics({ processMetrics: false }),
      tracing: undefined,
    });
    await worker.start();
  });

  afterEach(() => worker.stop());

  /** The first answer, or what kind of failure there was. */
  function ask<Request, Reply>(to: Subject<Request, Reply>, request: unknown): Promise<Reply | BusError['kind']> {
    return new Promise((resolve) => {
      const pending = bus.request(to, request as Request, {
        reply: (answer) => {
          pending.close();
          resolve(answer);
        },
        failed: ({ kind }) => resolve(kind),
      });
    });
  }

  const initialize = (params: unknown): Promise<OpenReply | BusError['kind']> =>
    ask(subjects.sessionOpen(undefined), {
      kind: 'open',
      caller,
      request: { jsonrpc: '2.0', id: 1, method: 'initialize', params },
    });

  async function open(): Promise<Extract<OpenReply, { kind: 'opened' }>> {
    const opened = await initialize({
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    if (typeof opened === 'string' || opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
    return opened;
  }

  it.each([
    ['capabilities', { capabilities: undefined }],
    ['capabilities', { capabilities: [] }],
    ['capabilities', { capabilities: null }],
    ['clientInfo', { clientInfo: undefined }],
    ['clientInfo', { clientInfo: [] }],
    ['clientInfo', { clientInfo: 'me' }],
  ])('an initialize without %s, or with something else for it, is refused by its name: %j', async (member, given) => {
    const reply = await initialize({
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
      ...given,
    });
    if (typeof reply === 'string' || reply.kind !== 'answered') throw new Error(JSON.stringify(reply));
    expect(JSON.parse(reply.text)).toMatchObject({
      id: 1,
      error: { code: -32_602, message: `params.${member} must be an object` },
    });
  });

  it.each([{ name: 'test' }, {}, { name: '', version: 7 }])(
    'opens a session for a client that says %j of itself',
    async (clientInfo) => {
      const opened = await initialize({ protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
      expect(opened).toMatchObject({ kind: 'opened' });
    },
  );

  it('answers each junk payload, whatever it is and wherever it comes in, and serves on', async () => {
    const { session, worker: self } = await open();
    const key = sessionKey(session);
    const junk: unknown[] = [
      null,
      undefined,
      0,
      'text',
      [],
      {},
      { key },
      { key: null, command: null },
      { key, command: 7 },
      { key, command: { kind: 'post' } },
      { key, command: { kind: 'post', caller, stream: 's', message: {} } },
      { key, command: { kind: 'batch', caller, stream: 's', messages: 5 } },
      { key, command: { kind: 'attach' } },
      { key, command: { kind: 'probe' } },
      { caller: null },
      { kind: 'open', caller, request: null },
      { lost: {}, key: {} },
    ];
    for (const payload of junk) {
      for (const to of [
        subjects.session(self),
        subjects.sessionAdopt(undefined),
        subjects.sessionOpen(undefined),
        subjects.sessionStreams(self),
        subjects.sessionLate(self),
        subjects.sessionFindAt(self),
      ]) {
        expect(
          await ask(to as Subject<unknown, unknown>, payload),
          `${to.name} ${JSON.stringify(payload)}`,
        ).toBeDefined();
      }
    }
    expect((await open()).kind).toBe('opened');
  });

  it('refuses a command that only a newer edge knows, instead of leaving it unanswered', async () => {
    const { session, worker: self } = await open();
    const answer = await ask(subjects.session(self), {
      key: sessionKey(session),
      command: { ...(JSON.parse('{"kind":"teleport"}') as SessionCommand), caller },
    });
    expect(answer).toMatchObject({ kind: 'refused', fault: { reason: 'command.unknown' } });
  });

  it('a client of 2024-10-07 is answered with the name of its revision', async () => {
    const opened = await initialize({
      protocolVersion: '2024-10-07',
      capabilities: {},
      clientInfo: { name: 'old', version: '1' },
    });
    if (typeof opened === 'string' || opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
    expect(JSON.parse(opened.text)).toMatchObject({ result: { protocolVersion: '2024-10-07' } });
  });

  it('a session that cannot be opened is answered at once, and not held', async () => {
    const unserialisable = {
      protocolVersion: '2025-11-25',
      capabilities: {
        get roots(): never {
          throw new Error('a bug of ours');
        },
      },
    };
    expect(await initialize(unserialisable)).toBe('handler-failed');
    expect([worker.desk.counts(), faults.length]).toEqual([{}, 1]);
  });

  it('asks and announces nothing before the client has confirmed the handshake', async () => {
    const { session, worker: self } = await open();
    const key = sessionKey(session);
    const frames: StreamFrame[] = [];
    const send = (command: SessionCommand): void =>
      void bus.request(
        subjects.session(self as WorkerId),
        { key, command },
        { reply: (frame) => void frames.push(frame), failed: ({ kind }) => expect.fail(kind) },
      );
    send({ kind: 'attach', caller, stream: 'push' as StreamId, after: undefined });
    await expect.poll(() => frames.map(({ kind }) => kind)).toEqual(['attached']);
    worker.apply(configOf('{ mcpServers: { up: { command: "none" } } }'));
    await ask(subjects.session(self), { key, command: { kind: 'probe', streams: [] } });
    expect(frames.map(({ kind }) => kind)).toEqual(['attached']);
  });
});
