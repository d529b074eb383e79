/** Subscriptions and settings of a session at a server last longer than the connection to the server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';
import { Upstream } from '../support/upstream.ts';

describe.each(shapesOfLane)('after a server has lost its sessions, %s', (shape) => {
  let upstream: Upstream;
  let gateway: GatewayHere;

  beforeAll(async () => {
    upstream = await Upstream.start({
      resources: [{ uri: 'up://one', name: 'one' }],
      capabilities: { logging: {}, resources: { subscribe: true } },
    });
    gateway = await startGatewayHere(shape, { mcpServers: { up: { url: upstream.url } } });
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  it('subscriptions and the log level are sent again, and updates go on', async () => {
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.length === 1);
    await client.request('resources/subscribe', { uri: 'up://one' });
    await client.request('logging/setLevel', { level: 'debug' });
    await upstream.answered.untilSome(({ method }) => method === 'logging/setLevel');
    const heard = await client.standing();
    const count = upstream.requests.length;
    upstream.forgetSessions();
    await upstream.answered.untilSome(
      (request) =>
        upstream.requests.indexOf(request) >= count &&
        request.method === 'resources/subscribe' &&
        request.params?.['uri'] === 'up://one',
    );
    await upstream.answered.untilSome(
      (request) =>
        upstream.requests.indexOf(request) >= count &&
        request.method === 'logging/setLevel' &&
        request.params?.['level'] === 'debug',
    );
    await upstream.listening.until(2);
    upstream.notify('notifications/resources/updated', { uri: 'up://one/part' });
    await heard.untilSome(
      ({ method, params }) => method === 'notifications/resources/updated' && params?.['uri'] === 'up://one/part',
    );
  });
});

it.each([
  ['shared', 1],
  ['principal', 2],
  ['session', 2],
] as const)(
  'isolation %s: two sessions of anonymous callers have %i connections for their calls',
  async (isolation, connections) => {
    await using upstream = await Upstream.start({
      onCall: (call) => call.answer({ content: [{ type: 'text', text: call.session }] }),
    });
    await using gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: upstream.url, isolation } } });
    using one = await RawClient.open(gateway.url);
    using two = await RawClient.open(gateway.url);
    await one.untilTools((names) => names.length === 1);
    const used = [await one.callTool('echo'), await two.callTool('echo'), await one.callTool('echo')].map(({ body }) =>
      body.replace(/"id":\d+/, ''),
    );
    expect(new Set(used).size).toBe(connections);
    expect(used[2]).toBe(used[0]);
  },
);
