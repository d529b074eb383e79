/** Cursors of clients: those of this gateway, and the ways in which clients say that they have none. */
import { expect, it } from 'vitest';
import { latestModernRevision, noLists } from '@omnibus/protocol';
import { WorkerUnderTest } from './worker-under-test.ts';

it.each(['2025-11-25', latestModernRevision] as const)(
  'a client of %s that sends null or the empty text as cursor gets the first page, and any other text is refused',
  async (revision) => {
    const worker = await WorkerUnderTest.start(['up']);
    await worker.put('up', {
      revision,
      capabilities: { tools: {} },
      lists: { ...noLists, tools: [{ name: 'get', inputSchema: { type: 'object' } }] },
    });
    const client = await worker.open(revision);
    const whole = await client.ask('tools/list');
    expect(whole.result).toMatchObject({ tools: [{ name: 'get' }] });
    for (const cursor of ['', null]) expect((await client.ask('tools/list', { cursor })).result).toEqual(whole.result);
    for (const cursor of ['x', 0, false, {}])
      expect((await client.ask('tools/list', { cursor })).error).toMatchObject({ code: -32_602 });
    await worker.stop();
  },
);
