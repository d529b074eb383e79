/** Updates of subscribed resources during a gap without a listener. */
import { subjects } from '@omnibus/bus';
import { latestLegacyRevision, noLists, parseServerName, type ExchangeEvent } from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WorkerUnderTest, type ClientUnderTest } from '../worker-under-test.ts';

const server = parseServerName('up');
const updated = (pushed: { readonly method?: string }): boolean => pushed.method === 'notifications/resources/updated';

let test: WorkerUnderTest;

beforeEach(async () => {
  test = await WorkerUnderTest.start(['up']);
  await test.put('up', {
    capabilities: { tools: {}, resources: { subscribe: true } },
    lists: { ...noLists, resources: [{ uri: 'up://one', name: 'one' }] },
  });
});

afterEach(async () => {
  await test.stop();
  expect(test.faults).toEqual([]);
});

async function subscribed(): Promise<ClientUnderTest> {
  const client = await test.open(latestLegacyRevision);
  test.outcome = { kind: 'result', result: {} };
  expect(await client.ask('resources/subscribe', { uri: 'up://one' })).toMatchObject({ result: {} });
  return client;
}

function replaceAdapter(): void {
  test.bus.publish(subjects.notices, { kind: 'adapter-changed', server });
}

it('is told once, as if the adapter before had said it, when the one that came instead has taken the subscription', async () => {
  const client = await subscribed();
  replaceAdapter();
  await expect
    .poll(() => client.pushed.values.filter(updated))
    .toEqual([{ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'up://one' } }]);
  expect(test.asked.values.map(({ method }) => method)).toEqual(['resources/subscribe', 'resources/subscribe']);
});

it('is not told while no adapter takes the subscription', async () => {
  const client = await subscribed();
  test.outcome = { kind: 'error', error: { code: -32_603, message: 'not yet' } };
  replaceAdapter();
  await expect.poll(() => test.asked.values).toHaveLength(2);
  expect(await client.ask('ping')).toMatchObject({ result: {} });
  expect(client.pushed.values.filter(updated)).toEqual([]);
});

it('is ended where it was taken again after the client had ended it', async () => {
  const client = await subscribed();
  const again = Promise.withResolvers<(event: ExchangeEvent) => void>();
  test.takes = again.resolve;
  replaceAdapter();
  const answer = await again.promise;
  expect(await client.ask('resources/unsubscribe', { uri: 'up://one' })).toMatchObject({ result: {} });
  await expect.poll(() => ended()).toHaveLength(1);
  answer({ kind: 'result', result: {} });
  await expect.poll(() => ended()).toHaveLength(2);
  expect(client.pushed.values.filter(updated)).toEqual([]);
});

function ended(): unknown[] {
  return test.controls.values.filter(({ kind }) => kind === 'unsubscribed');
}
