import { expect, it, onTestFinished, vi } from 'vitest';
import { anonymous, rootEndpoint, type Principal, type ServerName, type SessionKey } from '@omnibus/protocol';
import { callOf, kindsOf, SinkUnderTest, SyncedSinkUnderTest, trailUnderTest, verify } from './trail-under-test.ts';

const names = (sink: SinkUnderTest): unknown[] => sink.records.map((record) => record['event.name']);

it('writes a chain that begins with the software, ends with its end and is whole', async () => {
  const sink = new SinkUnderTest();
  const { trail } = trailUnderTest([{ sink, isOptional: false }]);
  for (let number = 0; number < 250; number += 1) trail.record(callOf(number));
  await trail.close();
  expect(names(sink)).toEqual(['audit.opened', ...Array.from({ length: 250 }, () => 'mcp.call'), 'audit.closed']);
  expect(sink.records[0]).toMatchObject({ 'omnibus.software': 'omnibus', 'omnibus.version': '1.2.3' });
  const result = verify(sink.lines);
  expect(result).toMatchObject({ findings: [], records: 252, writers: 1 });
});

it('says who did what, where, with which arguments as a digest, and nothing of what they hold', async () => {
  const sink = new SinkUnderTest();
  const { trail } = trailUnderTest([{ sink, isOptional: false }]);
  trail.record({
    name: 'mcp.call',
    weight: 'write',
    endpoint: rootEndpoint,
    session: 'key-of-session' as SessionKey,
    trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    method: 'tools/call',
    id: 7,
    who: {
      principal: 'p_1' as Principal,
      issuer: 'https://login.example.com',
      subject: 'ann',
      actors: [{ issuer: 'https://login.example.com', subject: 'robot' }],
      client: 'editor',
      address: '10.0.0.7',
    },
    server: 'notes' as ServerName,
    target: 'write',
    publicName: 'notes__write',
    uri: 'https://ann:pw@host/a/b?token=secret#part',
    args: { b: 2, a: 'secret text' },
    outcome: 'tool_error',
    durationMs: 12.345,
    responseBytes: 99,
  });
  trail.record({
    name: 'mcp.call',
    weight: 'write',
    method: 'tools/call',
    args: { a: 'secret text', b: 2 },
    outcome: 'ok',
  });
  await trail.close();
  const [, first, second] = sink.records;
  expect(first).toMatchObject({
    'event.name': 'mcp.call',
    'mcp.method.name': 'tools/call',
    'mcp.session.id': 'key-of-session',
    'mcp.resource.uri': 'https://host/a/b',
    'gen_ai.tool.name': 'notes__write',
    'jsonrpc.request.id': '7',
    'error.type': 'tool_error',
    'client.address': '10.0.0.7',
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    span_id: 'b7ad6b7169203331',
    'user.id': 'ann',
    'omnibus.principal': 'p_1',
    'omnibus.issuer': 'https://login.example.com',
    'omnibus.actors': ['https://login.example.com|robot'],
    'omnibus.client': 'editor',
    'omnibus.endpoint': '/mcp',
    'omnibus.server': 'notes',
    'omnibus.tool': 'write',
    'omnibus.outcome': 'tool_error',
    'omnibus.duration_ms': 12.3,
    'omnibus.response_bytes': 99,
  });
  expect(first?.['omnibus.arguments_digest']).toBe(second?.['omnibus.arguments_digest']);
  expect(sink.lines.join('\n')).not.toContain('secret');
});

it('shows nobody by name where callers are to stand there by their keys alone', async () => {
  const sink = new SinkUnderTest();
  const { trail } = trailUnderTest([{ sink, isOptional: false }], { who: 'key' });
  trail.record(
    callOf(1, {
      who: {
        principal: anonymous,
        issuer: 'https://login.example.com',
        subject: 'ann',
        actors: [{ issuer: 'i', subject: 'robot' }],
      },
    }),
  );
  await trail.close();
  expect(sink.records[1]?.['omnibus.principal']).toBe('anonymous');
  expect(sink.lines.join('\n')).not.toMatch(/ann"|robot|login\.example/);
});

it('loses nothing when a sink is down and comes back, and says when it works again', async () => {
  const [steady, shaky] = [new SinkUnderTest('steady'), new SinkUnderTest('shaky')];
  shaky.isDown = true;
  const { trail, counted } = trailUnderTest([
    { sink: steady, isOptional: false },
    { sink: shaky, isOptional: false },
  ]);
  for (let number = 0; number < 300; number += 1) trail.record(callOf(number));
  await expect.poll(() => counted.failed).toBe(1);
  await expect.poll(() => steady.lines.length).toBeGreaterThan(300);
  expect(trail.behind.find(({ sink }) => sink === 'shaky')).toMatchObject({ isFailing: true });
  shaky.isDown = false;
  await expect.poll(() => shaky.lines.length).toBe(steady.lines.length);
  expect(counted).toMatchObject({ dropped: 0, recovered: 1 });
  await trail.close();
  expect(verify(shaky.lines).findings).toEqual([]);
});

it('counts the records that a full ring dropped, in the chain, and continues it', async () => {
  const sink = new SinkUnderTest();
  sink.hold();
  const { trail, counted } = trailUnderTest([{ sink, isOptional: false }], { ring: 200 });
  for (let number = 0; number < 500; number += 1) trail.record(callOf(number));
  expect(counted.dropped).toBe(301);
  sink.letGo();
  await expect.poll(() => names(sink)).toContain('audit.gap');
  trail.record(callOf(1_000));
  await trail.close();
  expect(sink.records.find((record) => record['event.name'] === 'audit.gap')).toMatchObject({ 'omnibus.records': 301 });
  const result = verify(sink.lines);
  expect(kindsOf(result)).toEqual(['gap']);
  expect(result.findings[0]).toMatchObject({ weight: 'gap', text: expect.stringContaining('301 records') as string });
});

it('counts what a full ring had no place for also if the process ends meanwhile, as long as its sinks take records', async () => {
  const sink = new SinkUnderTest();
  sink.hold();
  const { trail } = trailUnderTest([{ sink, isOptional: false }], { ring: 100 });
  for (let number = 0; number < 150; number += 1) trail.record(callOf(number));
  const closed = trail.close();
  sink.letGo();
  await closed;
  expect(names(sink).slice(-2)).toEqual(['audit.gap', 'audit.closed']);
  expect(sink.records.at(-2)).toMatchObject({ 'omnibus.records': 51 });
  expect(kindsOf(verify(sink.lines))).toEqual(['gap']);
});

it('counts an event of which no record can be made, in the chain, and loses none of those beside it', async () => {
  const sink = new SinkUnderTest();
  const { trail, counted } = trailUnderTest([{ sink, isOptional: false }]);
  const broken = callOf(1, { args: { number: 1n } });
  trail.record(callOf(0));
  trail.record(broken);
  trail.record(callOf(2));
  expect(await trail.confirm(broken)).toBe(false);
  expect(await trail.confirm(callOf(3))).toBe(true);
  await trail.close();
  expect(names(sink)).toEqual([
    'audit.opened',
    'mcp.call',
    'audit.gap',
    'mcp.call',
    'audit.gap',
    'mcp.call',
    'audit.closed',
  ]);
  expect(counted).toMatchObject({ unwritten: 2, dropped: 2, recorded: 7 });
  expect(kindsOf(verify(sink.lines))).toEqual(['gap']);
});

it('lets records pass by an optional sink that is behind, and no other', async () => {
  const [steady, slow] = [new SinkUnderTest('steady'), new SinkUnderTest('slow')];
  slow.hold();
  const { trail, counted } = trailUnderTest(
    [
      { sink: steady, isOptional: false },
      { sink: slow, isOptional: true },
    ],
    { ring: 250 },
  );
  for (let round = 1; round <= 5; round += 1) {
    for (let number = 0; number < 100; number += 1) trail.record(callOf(number));
    await expect.poll(() => steady.lines.length).toBeGreaterThanOrEqual(round * 100 - 1);
  }
  slow.letGo();
  await trail.close();
  expect(verify(steady.lines).findings).toEqual([]);
  expect(counted.dropped).toBe(0);
  expect(counted.skipped).toBeGreaterThan(0);
  expect(steady.lines.length - slow.lines.length).toBe(counted.skipped);
  expect(kindsOf(verify(slow.lines))).toEqual(['missing']);
});

it('confirms a record when it is safe everywhere it must be, and not before', async () => {
  const sink = new SinkUnderTest();
  const { trail } = trailUnderTest([{ sink, isOptional: false }], { isStrict: true, confirmMs: 100 });
  expect(await trail.confirm(callOf(1, { outcome: 'started' }))).toBe(true);
  expect(sink.records.at(-1)).toMatchObject({ 'omnibus.outcome': 'started' });
  sink.hold();
  expect(await trail.confirm(callOf(2, { outcome: 'started' }))).toBe(false);
  sink.letGo();
  await trail.close();
  expect(verify(sink.lines).findings).toEqual([]);
});

it('records what it was asked to record of calls, and all of the rest', async () => {
  for (const [calls, expected] of [
    ['all', 4],
    ['writes', 3],
    ['refused', 2],
  ] as const) {
    const sink = new SinkUnderTest();
    const { trail } = trailUnderTest([{ sink, isOptional: false }], { calls });
    for (const weight of ['read', 'write', 'refusal', 'always'] as const) trail.record(callOf(1, { weight }));
    await trail.close();
    expect(sink.lines.length - 2).toBe(expected);
  }
});

it('syncs what was written for a while, what somebody waits for at once, and at once too where a fourth of the ring waits', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const sink = new SyncedSinkUnderTest();
  const { trail } = trailUnderTest([{ sink, isOptional: false }], { ring: 10_000 });
  const recordMany = async (records: number): Promise<void> => {
    for (let number = 0; number < records; number += 1) trail.record(callOf(number));
    await vi.advanceTimersByTimeAsync(0);
  };
  await recordMany(400);
  expect([sink.lines.length, sink.synced]).toEqual([401, []]);
  await vi.advanceTimersByTimeAsync(250);
  expect(sink.synced).toEqual([401]);
  expect(await trail.confirm(callOf(400))).toBe(true);
  expect(sink.synced).toEqual([401, 402]);
  await recordMany(2_400);
  expect(sink.synced).toEqual([401, 402]);
  await recordMany(2_400);
  expect(trail.behind[0]?.records).toBeLessThan(2_500);
  await trail.close();
});

it('syncs early where the ring is small, so that nothing is dropped', async () => {
  const sink = new SyncedSinkUnderTest();
  const { trail, counted } = trailUnderTest([{ sink, isOptional: false }], { ring: 200 });
  for (let round = 0; round < 20; round += 1) {
    for (let number = 0; number < 100; number += 1) trail.record(callOf(number));
    await new Promise((resolve) => void setImmediate(resolve));
  }
  await trail.close();
  expect([counted.dropped, kindsOf(verify(sink.lines)), sink.synced.at(-1)]).toEqual([0, [], 2_002]);
});

it('keeps no large arguments until its batch is full', async () => {
  const sink = new SinkUnderTest();
  const { trail } = trailUnderTest([{ sink, isOptional: false }]);
  trail.record(callOf(1));
  expect(trail.head.seq).toBe(1);
  trail.record(callOf(2, { args: { text: 'x'.repeat(100_000) } }));
  expect(trail.head.seq).toBe(3);
  await trail.close();
  expect(verify(sink.lines).findings).toEqual([]);
});
