/** Updates of resources that a server could not tell while it was not heard. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { latestModernRevision, newRequestKey, type JsonObject, type ServerNotice } from '@omnibus/protocol';
import { AdapterUnderTest } from '../../adapter-under-test.ts';

const capabilities = { resources: { subscribe: true } };
const [one, two] = ['up://one', 'up://two'];

const updated = ({ notices }: AdapterUnderTest): readonly string[] =>
  notices.values.flatMap((notice: ServerNotice) => (notice.kind === 'resource-updated' ? [notice.uri] : []));

it('each resource that sessions listen to is said to be updated once, after the stream of the server was gone and is back', async () => {
  const streams: ServerResponse[] = [];
  await using it = await AdapterUnderTest.start({
    capabilities,
    get: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      streams.push(response);
    },
  });
  await it.adapter.firstAttempt;
  await it.gets.until(1);
  for (const uri of [one, two])
    expect(await it.call(newRequestKey(), 'resources/subscribe', { uri })).toEqual({ kind: 'result', result: {} });
  expect(updated(it)).toEqual([]);
  streams[0]?.end();
  await expect.poll(() => updated(it)).toEqual([one, two]);
});

it('after the server has lost its session, updates are reported once the server has the subscriptions again, and not before', async () => {
  let isForgotten = false;
  let again: { readonly uri: unknown; readonly take: () => void }[] = [];
  await using it = await AdapterUnderTest.start({
    capabilities,
    says: ({ method, params, session }, response) => {
      if (isForgotten && session === 'session-1') {
        response.writeHead(404).end();
        return 'silence';
      }
      if (method !== 'resources/subscribe' || !isForgotten) return undefined;
      return new Promise((resolve) => {
        again = [...again, { uri: params?.['uri'], take: () => resolve({ result: {} }) }];
      });
    },
  });
  await it.adapter.firstAttempt;
  for (const uri of [one, two]) await it.call(newRequestKey(), 'resources/subscribe', { uri });
  isForgotten = true;
  await it.call(newRequestKey(), 'tools/call', { name: 'act' });
  await expect.poll(() => again.map(({ uri }) => uri)).toEqual([one, two]);
  // A client that reads now may miss a change before the new subscription.
  expect(updated(it)).toEqual([]);
  again.find(({ uri }) => uri === two)?.take();
  await expect.poll(() => updated(it)).toEqual([two]);
  again.find(({ uri }) => uri === one)?.take();
  await expect.poll(() => updated(it)).toEqual([two, one]);
});

it('a subscription that the server does not take again at once is asked for once more', async () => {
  let isForgotten = false;
  let refusals = 0;
  await using it = await AdapterUnderTest.start({
    capabilities,
    says: ({ method, session }, response) => {
      if (isForgotten && session === 'session-1') {
        response.writeHead(404).end();
        return 'silence';
      }
      if (method !== 'resources/subscribe' || !isForgotten || refusals > 0) return undefined;
      refusals += 1;
      return { error: { code: -32_603, message: 'still starting' } };
    },
  });
  await it.adapter.firstAttempt;
  await it.call(newRequestKey(), 'resources/subscribe', { uri: one });
  isForgotten = true;
  await it.call(newRequestKey(), 'tools/call', { name: 'act' });
  await expect.poll(() => it.count('resources/subscribe')).toBe(3);
  await expect.poll(() => updated(it)).toEqual([one]);
});

it('a server of 2026-07-28 that ends its listen unacknowledged is not said to refuse the subscription', async () => {
  const whole = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const answers: Readonly<Record<string, JsonObject>> = {
    'server/discover': { ...whole, supportedVersions: [latestModernRevision], capabilities },
    'resources/list': { ...whole, resources: [] },
    'resources/templates/list': { ...whole, resourceTemplates: [] },
    'subscriptions/listen': { resultType: 'complete' },
  };
  await using it = await AdapterUnderTest.start({
    capabilities,
    says: ({ method }) => {
      const result = answers[method];
      return result === undefined ? { error: { code: -32_601, message: 'no such method' } } : { result };
    },
  });
  await it.adapter.firstAttempt;
  expect(await it.call(newRequestKey(), 'resources/subscribe', { uri: one })).toMatchObject({
    kind: 'fault',
    fault: { reason: 'upstream.invalid' },
  });
});
