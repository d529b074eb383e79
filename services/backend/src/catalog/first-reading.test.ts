/** The first reading of a server's lists, in front of servers that are slow, silent or particular. */
import { expect, it } from 'vitest';
import type { SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, toolNamed } from '../adapter-under-test.ts';

it('the first list is asked for only when the server has taken that it is initialized, which names the revision', async () => {
  let isInitialized = false;
  const slow = Promise.withResolvers<void>();
  await using it = await AdapterUnderTest.start({
    says: async ({ method }) => {
      if (method === 'notifications/initialized') {
        await slow.promise;
        isInitialized = true;
      }
      return method === 'tools/list' && !isInitialized ? { result: { tools: [] } } : undefined;
    },
  });
  await it.heard.untilSome(({ method }) => method === 'notifications/initialized');
  it.wheel.schedule(300, slow.resolve);
  await it.adapter.firstAttempt;
  expect(it.tools).toEqual(['act']);
  expect(it.count('tools/list')).toBe(1);
  expect(it.heard.values.find(({ method }) => method === 'notifications/initialized')).toMatchObject({
    session: 'session-1',
    revision: '2025-11-25',
  });
});

it('a server that never ends its answer to being initialized is used nevertheless', async () => {
  await using it = await AdapterUnderTest.start({
    says: ({ method }, response) => {
      if (method !== 'notifications/initialized') return undefined;
      response.writeHead(202).flushHeaders();
      return 'silence';
    },
  });
  await it.adapter.firstAttempt;
  expect(it.tools).toEqual(['act']);
});

it(
  'a first list that is met by silence is said, read again with growing pauses, and there when the server answers',
  { timeout: 60_000 },
  async () => {
    let isSilent = true;
    await using it = await AdapterUnderTest.start(
      { says: ({ method }) => (isSilent && method === 'tools/list' ? 'silence' : undefined) },
      { connectTimeout: '300ms' },
    );
    await it.adapter.firstAttempt;
    expect(it.record).toMatchObject({
      status: 'up',
      problem: expect.stringContaining('tools/list') as string,
      lists: { tools: [] },
    });
    await expect.poll(() => it.count('tools/list')).toBeGreaterThan(1);
    isSilent = false;
    await expect.poll(() => it.tools).toEqual(['act']);
    expect(it.record).not.toHaveProperty('problem');
  },
);

it('a tool whose schema is of another type than object is left out, named and counted, and one without type is repaired, whatever the revision', async () => {
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']) {
    await using it = await AdapterUnderTest.start({
      says: ({ method }) => {
        if (method === 'initialize')
          return {
            result: {
              protocolVersion: revision,
              capabilities: { tools: {} },
              serverInfo: { name: 'odd', version: '1' },
            },
          };
        if (method === 'server/discover' && revision === '2026-07-28')
          return { result: { resultType: 'complete', supportedVersions: [revision], capabilities: { tools: {} } } };
        return method === 'tools/list'
          ? {
              result: {
                tools: [
                  toolNamed('good'),
                  { name: 'bad', inputSchema: { type: 'array' } },
                  { name: 'none', inputSchema: {} },
                ],
              },
            }
          : undefined;
      },
    });
    await it.adapter.firstAttempt;
    expect(it.tools, revision).toEqual(['good', 'none']);
    expect(it.record, revision).toMatchObject({
      revision,
      leftOut: 1,
      unfit: [{ kind: 'tools', name: 'bad', problem: '"inputSchema" must be of type "object"' }],
    });
    expect(it.repairs.rows).toMatchObject([{ repair: 'input-schema', example: 'tools "none": inputSchema' }]);
  }
});

it('a version error of any code that names revisions is followed, by server/discover and by initialize', async () => {
  for (const code of [-32_602, -32_022, -32_000]) {
    await using older = await AdapterUnderTest.start({
      says: ({ method, params }) => {
        if (method === 'server/discover')
          return {
            error: { code, message: 'unsupported', data: { supported: ['2025-06-18'], requested: '2026-07-28' } },
          };
        if (method !== 'initialize' || params?.['protocolVersion'] === '2025-06-18')
          return method === 'initialize'
            ? {
                result: {
                  protocolVersion: '2025-06-18',
                  capabilities: { tools: {} },
                  serverInfo: { name: 'old', version: '1' },
                },
              }
            : undefined;
        return {
          error: {
            code,
            message: 'Unsupported protocol version',
            data: { supported: ['1999-01-01', '2025-06-18'], requested: params?.['protocolVersion'] },
          },
        };
      },
    });
    await older.adapter.firstAttempt;
    expect(older.record, `initialize ${code}`).toMatchObject({ status: 'up', revision: '2025-06-18' });
    let asked = 0;
    await using newer = await AdapterUnderTest.start({
      says: ({ method }) => {
        if (method !== 'server/discover') return undefined;
        asked += 1;
        if (asked === 1)
          return { error: { code, message: 'unsupported', data: { supported: ['2026-07-28', '2030-01-01'] } } };
        return { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } };
      },
    });
    await newer.adapter.firstAttempt;
    expect(newer.record, `discover ${code}`).toMatchObject({ status: 'up', revision: '2026-07-28' });
  }
});

it('a server taken for an older one that refuses initialize and names the newest revision is asked in that', async () => {
  let isNew = false;
  await using it = await AdapterUnderTest.start({
    capabilities: { tools: {}, logging: {} },
    says: ({ method, session }, response) => {
      if (!isNew) return undefined;
      if (session !== undefined) {
        response.writeHead(404).end();
        return 'silence';
      }
      if (method === 'initialize')
        return {
          error: { code: -32_602, message: 'Unsupported protocol version', data: { supported: ['2026-07-28'] } },
        };
      if (method === 'server/discover')
        return { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } };
      return method === 'tools/list' || method === 'ping'
        ? undefined
        : { error: { code: -32_601, message: 'no such method' } };
    },
  });
  await it.adapter.firstAttempt;
  isNew = true;
  it.control({ kind: 'log-level', session: 'somebody' as SessionKey, level: 'debug' });
  await expect.poll(() => it.record.revision).toBe('2026-07-28');
});
it('a list that is not answered holds up no other: the tools are there while the resources are waited for', async () => {
  await using it = await AdapterUnderTest.start(
    {
      capabilities: { tools: {}, resources: {} },
      says: ({ method }) => (method === 'resources/list' ? 'silence' : undefined),
    },
    { connectTimeout: '20s' },
  );
  await expect.poll(() => it.tools).toEqual(['act']);
  await expect.poll(() => it.record.problem).toContain('resources/list');
  expect(it.record.status).toBe('up');
});

it('a list whose second page fails is read again until it is whole', async () => {
  let isBroken = true;
  await using it = await AdapterUnderTest.start({
    says: ({ method, params }) => {
      if (method !== 'tools/list') return undefined;
      if (params?.['cursor'] === undefined) return { result: { tools: [toolNamed('one')], nextCursor: 'two' } };
      return isBroken
        ? { error: { code: -32_603, message: 'still loading' } }
        : { result: { tools: [toolNamed('two')] } };
    },
  });
  await it.adapter.firstAttempt;
  expect(it.tools).toEqual(['one']);
  expect(it.record.problem).toContain('still loading');
  isBroken = false;
  await expect.poll(() => it.tools).toEqual(['one', 'two']);
  expect(it.record).not.toHaveProperty('problem');
});
