/** Subscriptions of clients without sessions (2026-07-28 basic/utilities/subscriptions). */
import { Heard } from '@omnibus/bus/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { EraServer, type MatrixRevision } from '../matrix/era-server.ts';
import { shapesOfLane, startGateway } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Message } from '../support/raw-client.ts';

const subscriptionOf = ({ params }: Message): unknown =>
  (params?.['_meta'] as JsonObject | undefined)?.['io.modelcontextprotocol/subscriptionId'];

function listen(
  client: ModernClient,
  notifications: JsonObject,
): { readonly heard: Heard<Message>; readonly ended: Promise<number> } {
  const heard = new Heard<Message>();
  const ended = client.stream('subscriptions/listen', { notifications }, (message) =>
    Promise.resolve(heard.add(message)),
  );
  ended.catch(() => undefined);
  return { heard, ended };
}

describe.each(shapesOfLane)('a subscription, %s', (shape) => {
  const servers = new Map<MatrixRevision, EraServer>();
  let gateway: GatewayHere;

  beforeAll(async () => {
    for (const revision of ['2025-11-25', '2026-07-28'] as const)
      servers.set(revision, await EraServer.start(revision));
    gateway = await startGatewayHere(shape, {
      mcpServers: { old: { url: servers.get('2025-11-25')?.url }, young: { url: servers.get('2026-07-28')?.url } },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('old__echo') && names.includes('young__echo'));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    for (const server of servers.values()) await server[Symbol.asyncDispose]();
  });

  it.each(['2025-11-25', '2026-07-28'] as const)(
    'is acknowledged first, then sends what was asked for and nothing else, with its id in each message: server of %s',
    async (revision) => {
      const server = servers.get(revision) as EraServer;
      using client = new ModernClient(gateway.url);
      const one = `era-${revision}://one`;
      const prompts = listen(client, { promptsListChanged: true, resourceSubscriptions: [one, 'nobody://knows'] });
      const tools = listen(client, { toolsListChanged: true });
      const [acknowledged] = await prompts.heard.until(1);
      expect(acknowledged).toMatchObject({
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { promptsListChanged: true, resourceSubscriptions: [one] } },
      });
      await tools.heard.until(1);
      server.push('notifications/tools/list_changed');
      await tools.heard.untilSome(({ method }) => method === 'notifications/tools/list_changed');
      server.push('notifications/prompts/list_changed');
      server.push('notifications/resources/updated', { uri: one });
      await prompts.heard.untilSome(({ method }) => method === 'notifications/prompts/list_changed');
      await prompts.heard.untilSome(
        ({ method, params }) => method === 'notifications/resources/updated' && params?.['uri'] === one,
      );
      const id = subscriptionOf(acknowledged as Message);
      expect(typeof id).toBe('number');
      expect(new Set(prompts.heard.values.map(subscriptionOf))).toEqual(new Set([id]));
      expect(prompts.heard.values.some(({ method }) => method === 'notifications/tools/list_changed')).toBe(false);
      expect(
        tools.heard.values
          .map(({ method }) => method)
          .filter((method) => method !== 'notifications/tools/list_changed'),
      ).toEqual(['notifications/subscriptions/acknowledged']);
    },
  );

  it('that is extended is opened at the server before the old one is closed', async () => {
    const server = servers.get('2026-07-28') as EraServer;
    using client = new ModernClient(gateway.url);
    const first = listen(client, { resourceSubscriptions: ['era-2026-07-28://item/1'] });
    await first.heard.until(1);
    const second = listen(client, { resourceSubscriptions: ['era-2026-07-28://item/2'] });
    await second.heard.until(1);
    const asked = server.seen
      .filter(({ method }) => method === 'subscriptions/listen')
      .map(({ params }) => (params['notifications'] as JsonObject)['resourceSubscriptions']);
    expect(asked.at(-1)).toEqual(expect.arrayContaining(['era-2026-07-28://item/1', 'era-2026-07-28://item/2']));
    server.push('notifications/resources/updated', { uri: 'era-2026-07-28://item/1' });
    await first.heard.untilSome(
      ({ method, params }) =>
        method === 'notifications/resources/updated' && params?.['uri'] === 'era-2026-07-28://item/1',
    );
  });

  it('to something that cannot be subscribed to is refused', async () => {
    using client = new ModernClient(gateway.url);
    expect((await client.request('subscriptions/listen', {})).last.error).toMatchObject({ code: -32_602 });
    expect(
      (await client.request('subscriptions/listen', { notifications: { taskIds: ['x'] } })).last.error,
    ).toMatchObject({ code: -32_021 });
  });
});

it('a gateway that stops ends subscriptions with a result', async () => {
  await using server = await EraServer.start('2025-11-25');
  const gateway = await startGateway('embedded', { mcpServers: { up: { url: server.url } } });
  using client = new ModernClient(gateway.url);
  const { heard, ended } = listen(client, { toolsListChanged: true });
  await heard.until(1);
  gateway.edge.kill('SIGTERM');
  expect(await ended).toBe(200);
  expect(heard.values.at(-1)).toMatchObject({ result: { resultType: 'complete' } });
  await gateway[Symbol.asyncDispose]();
});

it('a tool that newly requires an argument in a header is listed again and called, unnoticed by the client', async () => {
  await using server = await EraServer.start('2026-07-28');
  await using gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: server.url } } });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('picky'));
  expect((await client.callTool('picky', { region: 'north' })).last.result).toEqual({
    content: [{ type: 'text', text: 'as it should be' }],
  });
  expect(server.seen.filter(({ method }) => method === 'tools/call')).toHaveLength(2);
});
