/** A gate that throws, which is a bug of a feature, ends the one request that it decides about. */
import { expect, it, vi } from 'vitest';
import { noLists } from '@omnibus/protocol';
import { WorkerUnderTest } from '../worker-under-test.ts';

it('a gate that throws ends its request with internal.error, and the next request is served', async () => {
  const test = await WorkerUnderTest.start(['up'], { limits: { rules: [{ id: 'few', rate: '1/h' }] } });
  await test.put('up', { lists: { ...noLists, tools: [{ name: 'pay', inputSchema: { type: 'object' } }] } });
  const client = await test.open('2025-11-25');
  const call = (): ReturnType<typeof client.ask> => client.ask('tools/call', { name: 'up__pay', arguments: {} });
  expect((await call()).result).toEqual({ content: [] });
  // The gate of limits counts a refused call here.
  const broken = vi.spyOn(test.metrics, 'limited').mockImplementationOnce(() => {
    throw new Error('by a test, on purpose');
  });
  expect((await call()).error?.data).toMatchObject({ reason: 'internal.error' });
  expect((await call()).error?.data).toMatchObject({ reason: 'limit.rate' });
  broken.mockRestore();
  await test.stop();
});
