/** The last record of a server, by which other processes know that its worker leaves. */
import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import type { CatalogRecord } from '@omnibus/protocol';
import { AdapterUnderTest, toolNamed } from '../adapter-under-test.ts';

it('a list that comes while the worker writes that it leaves does not take that back', async () => {
  const written: CatalogRecord[] = [];
  let room: Promise<void> | undefined;
  const original = Reflect.get(MemoryBus.prototype, 'keyValue') as MemoryBus['keyValue'];
  const spy = vi.spyOn(MemoryBus.prototype, 'keyValue').mockImplementation(async function (this: MemoryBus, bucket) {
    const store = await original.call(this, bucket);
    const put = store.put.bind(store);
    return Object.assign(store, {
      put: async (key: string, value: never) => {
        if (key.startsWith('up=')) written.push(value);
        await room;
        return put(key, value);
      },
    }) as never;
  });
  onTestFinished(() => spy.mockRestore());
  let answer: (() => void) | undefined;
  const streams: ServerResponse[] = [];
  await using it = await AdapterUnderTest.start({
    capabilities: { tools: { listChanged: true } },
    get: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      streams.push(response);
    },
    says: ({ id, method }, response) => {
      if (method !== 'tools/list') return undefined;
      if (it.count('tools/list') < 2) return { result: { tools: [toolNamed('act')] } };
      answer = () =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [toolNamed('act'), toolNamed('late')] } }));
      return 'silence';
    },
  });
  await it.adapter.firstAttempt;
  await it.gets.until(1);
  streams[0]?.write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
  await vi.waitUntil(() => answer !== undefined);
  const full = Promise.withResolvers<void>();
  room = full.promise;
  const left = it.adapter.catalog.leave();
  await vi.waitUntil(() => written.at(-1)?.hasLeft === true);
  answer?.();
  await vi.waitUntil(() => written.at(-1)?.lists.tools.length === 2);
  full.resolve();
  await left;
  expect(written.at(-1)).toMatchObject({ hasLeft: true });
  expect(it.record).toMatchObject({ hasLeft: true });
});
