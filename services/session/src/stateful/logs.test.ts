/** Messages of a server without a call that can concern one session only. */
import { expect, it } from 'vitest';
import { subjects } from '@omnibus/bus';
import { noLists, parseServerName, type CallCommand, type LogLevel, type SessionKey } from '@omnibus/protocol';
import { callerOf, WorkerUnderTest } from '../worker-under-test.ts';

it.each<[string, LogLevel | undefined, readonly string[]]>([
  ['that set no level hears all of it', undefined, ['debug', 'error']],
  ['hears it by the level it set', 'error', ['error']],
])('a session %s', async (_title, level, heard) => {
  const worker = await WorkerUnderTest.start(['up']);
  await worker.put('up', {
    capabilities: { tools: {}, logging: {} },
    lists: { ...noLists, tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
  });
  const client = await worker.open('2025-11-25');
  await client.ask('tools/call', { name: 'act' });
  const call = (await worker.asked.until(1))[0] as CallCommand;
  const { session } = call.context;
  if (level !== undefined) await client.ask('logging/setLevel', { level });
  for (const each of ['debug', 'error'])
    worker.bus.publish(subjects.notices, {
      kind: 'log',
      server: parseServerName('up'),
      params: { level: each, data: 'x' },
      sessions: [session],
    });
  worker.bus.publish(subjects.notices, {
    kind: 'notification',
    server: parseServerName('up'),
    method: 'notifications/example/last',
    sessions: [session],
  });
  await client.pushed.untilSome(({ method }) => method === 'notifications/example/last');
  expect(
    client.pushed.values
      .filter(({ method }) => method === 'notifications/message')
      .map(({ params }) => (params as { level: string }).level),
  ).toEqual(heard);
  await worker.stop();
});

it('a session whose key permits single tools hears messages about no call only if no other client can have caused them', async () => {
  const worker = await WorkerUnderTest.start(['up'], { auth: { keys: { file: 'keys.yaml' } } });
  await worker.put('up', {
    capabilities: { tools: {}, logging: {} },
    lists: { ...noLists, tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
  });
  const wide = await worker.open('2025-11-25', {}, callerOf('ann'));
  const narrow = await worker.open('2025-11-25', {}, callerOf('ann', { tools: ['up/act'] }));
  const keys = [wide.key, narrow.key] as [SessionKey, SessionKey];
  const say = (what: string, sessions: readonly SessionKey[], isOwn: boolean): void => {
    const server = parseServerName('up');
    const more = { server, sessions, ...(isOwn ? { isOwn } : {}) };
    worker.bus.publish(subjects.notices, { ...more, kind: 'log', params: { level: 'error', data: what } });
    worker.bus.publish(subjects.notices, { ...more, kind: 'notification', method: `notifications/example/${what}` });
  };
  say('of-both', keys, false);
  for (const key of keys) say('own', [key], true);
  for (const { pushed } of [wide, narrow])
    await pushed.untilSome(({ method }) => method === 'notifications/example/own');
  const heard = [wide, narrow].map(({ pushed }) =>
    pushed.values.map(({ method, params }) => (params as { data?: string } | undefined)?.data ?? method),
  );
  expect(heard).toEqual([
    ['of-both', 'notifications/example/of-both', 'own', 'notifications/example/own'],
    ['own', 'notifications/example/own'],
  ]);
  await worker.stop();
});
