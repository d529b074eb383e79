/** Subscriptions of clients without a session: their acknowledgements and notifications. */
import { describe, expect, it } from 'vitest';
import { noLists, parseServerName, type CatalogRecord, type JsonObject } from '@omnibus/protocol';
import { holdTime, pass, question, recordOf, RequestsUnderTest, type Asked, type Sent } from './requests-under-test.ts';

holdTime();

describe('a subscription', () => {
  const two: CatalogRecord[] = [
    recordOf(parseServerName('up')),
    recordOf(parseServerName('down'), { lists: { ...noLists, resources: [{ uri: 'down://one', name: 'one' }] } }),
  ];
  const uris = ['up://one', 'down://one', 'nobody://knows'];
  const acknowledged = ({ frames }: Sent): unknown[] =>
    frames.flatMap((frame) =>
      frame.kind === 'message'
        ? [(JSON.parse(frame.text) as { readonly params: JsonObject }).params['notifications']]
        : [],
    );
  const commandOf = (test: RequestsUnderTest, server: string): Asked =>
    test.asked.find((asked) => asked.server === server) as Asked;

  it('is acknowledged when each server has answered, however long that takes, with the accepted part', async () => {
    const test = await RequestsUnderTest.start({}, two);
    const sent = test.send('subscriptions/listen', {
      notifications: { toolsListChanged: true, resourceSubscriptions: uris },
    });
    await pass();
    commandOf(test, 'up').reply({ kind: 'result', result: {} });
    await pass(8_000);
    expect(acknowledged(sent)).toEqual([]);
    commandOf(test, 'down').reply({ kind: 'result', result: {} });
    await pass();
    expect(acknowledged(sent)).toEqual([{ toolsListChanged: true, resourceSubscriptions: ['up://one', 'down://one'] }]);
  });

  it('does not claim the parts that a server refuses or does not answer in the time of the request, which the client may shorten', async () => {
    const test = await RequestsUnderTest.start({}, two);
    const listen = (more: JsonObject = {}): Sent =>
      test.send('subscriptions/listen', { notifications: { resourceSubscriptions: uris }, ...more });
    const [usual, short] = [listen(), listen({ _meta: { 'dev.omnibus/timeoutMs': 3_000 } })];
    await pass();
    for (const { server, reply } of test.asked)
      if (server === 'up') reply({ kind: 'error', error: { code: -32_602, message: 'no' } });
    await pass(4_000);
    expect([acknowledged(usual), acknowledged(short)]).toEqual([[], [{ resourceSubscriptions: [] }]]);
    await pass(7_000);
    expect(acknowledged(usual)).toEqual([{ resourceSubscriptions: [] }]);
    const wrong = listen({ _meta: { 'dev.omnibus/timeoutMs': 'soon' } });
    await pass();
    expect(wrong.answer()).toMatchObject({ reason: 'params.invalid' });
  });

  it('is made again where an adapter was replaced, and told of what that one may have missed', async () => {
    const test = await RequestsUnderTest.start();
    const sent = test.send('subscriptions/listen', { notifications: { resourceSubscriptions: ['up://one'] } });
    await pass();
    test.asked[0]?.reply({ kind: 'result', result: {} });
    await pass();
    test.requests.listeners.adaptersChanged(parseServerName('up'), true);
    await pass();
    const updates = (): unknown[] =>
      sent.frames.flatMap((frame) =>
        frame.kind === 'message' && frame.text.includes('notifications/resources/updated')
          ? [JSON.parse(frame.text)]
          : [],
      );
    expect(updates()).toEqual([]);
    test.asked[1]?.reply({ kind: 'result', result: {} });
    await pass();
    expect(updates()).toMatchObject([{ params: { uri: 'up://one' } }]);
  });

  it("is made as its client's calls are, and a server that asks something for it is told that nobody can be asked", async () => {
    const test = await RequestsUnderTest.start();
    test.send('subscriptions/listen', { notifications: { resourceSubscriptions: ['up://one'] } });
    test.call();
    await pass();
    const [subscribed, called] = test.asked.map(({ command }) => command.context);
    expect(subscribed?.capabilities).toEqual(called?.capabilities);
    test.asked[0]?.reply(question(1));
    await pass();
    expect(test.answers).toMatchObject([{ input: 1, answer: { error: { code: -32_601 } } }]);
  });
});
