/** Limits of tools with an annotation (`only` of `limits.rules`), with the example of docs/how-to/limits.md: a session worker on a bus in memory. */
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  type CatalogRecord,
  type JsonObject,
} from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const settings = {
  mcpServers: {
    files: { url: 'https://files.example.com/mcp', hints: 'believe' },
    shell: { url: 'https://shell.example.com/mcp' },
  },
  limits: {
    rules: [{ id: 'careful', only: 'destructive', rate: '5/min', because: 'at most five changes in a minute' }],
  },
};
const tools: Readonly<Record<string, JsonObject>> = {
  read: { readOnlyHint: true },
  append: { readOnlyHint: false, destructiveHint: false },
  drop: { readOnlyHint: false, destructiveHint: true },
  contradictory: { readOnlyHint: true, destructiveHint: true },
};

let worker: WorkerUnderTest;

beforeEach(async () => {
  worker = await WorkerUnderTest.start(['files', 'shell'], settings);
  for (const server of ['files', 'shell'])
    await worker.put(server, {
      revision: latestLegacyRevision,
      capabilities: { tools: {}, resources: {} },
      lists: {
        ...noLists,
        resources: [{ uri: `${server}://a`, name: 'a' }],
        tools: [...Object.entries(tools), ['silent', undefined] as const].map(([name, annotations]) => ({
          name,
          inputSchema: { type: 'object' },
          ...(annotations === undefined ? {} : { annotations }),
        })) as unknown as CatalogRecord['lists']['tools'],
      },
    });
});

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
});

/** The calls of six that are answered. */
async function answered(client: ClientUnderTest, name: string): Promise<number> {
  let count = 0;
  for (let calls = 0; calls < 6; calls += 1) {
    const { result, error } = await client.ask('tools/call', { name, arguments: {} });
    if (result !== undefined) count += 1;
    else expect(error?.data).toMatchObject({ reason: 'limit.rate', limit: 'careful' });
  }
  return count;
}

describe.each([latestLegacyRevision, latestModernRevision])('a client of %s', (revision) => {
  it.each([
    ['files__read', 6],
    ['files__append', 6],
    ['files__drop', 5],
    ['files__contradictory', 6],
    ['files__silent', 5],
    ['shell__read', 5],
    ['shell__append', 5],
    ['shell__drop', 5],
  ])('gets %s answered %i times of six', async (name, count) => {
    const client = await worker.open(revision, {}, callerOf('ann'));
    expect(await answered(client, name)).toBe(count);
  });

  it('reads resources as often as it likes, and its destructive calls of all servers count together', async () => {
    const client = await worker.open(revision, {}, callerOf('ann'));
    for (let reads = 0; reads < 6; reads += 1)
      expect((await client.ask('resources/read', { uri: 'shell://a' })).error).toBeUndefined();
    expect(await answered(client, 'files__drop')).toBe(5);
    expect(await answered(client, 'shell__read')).toBe(0);
    expect(await answered(await worker.open(revision, {}, callerOf('bob')), 'shell__read')).toBe(5);
  });
});
