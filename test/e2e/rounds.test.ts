/** Calls of a client without a session at an older server with questions, with all possible faults. */
import { inboxOf, openNatsBus, subjects } from '@omnibus/bus';
import { Heard } from '@omnibus/bus/testing';
import type { Principal, StreamFrame } from '@omnibus/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EraServer } from '../matrix/era-server.ts';
import { endNow, shapesOfLane, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import type { RunningProcess } from '../support/processes.ts';
import { turnable, turnByMinute, turningUntil } from '../support/turned-clock.ts';

const accepted = (answer: string) => ({ action: 'accept', content: { answer } });

async function until(gateway: { readonly url: string }, tool: string): Promise<void> {
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes(tool));
}

const callsOf = (server: EraServer): number => server.seen.filter(({ method }) => method === 'tools/call').length;

describe.each(shapesOfLane)('a question in several requests, %s', (shape) => {
  let server: EraServer;
  let gateway: GatewayHere;
  let client: ModernClient;

  beforeAll(async () => {
    server = await EraServer.start('2025-11-25');
    gateway = await startGatewayHere(shape, { mcpServers: { up: { url: server.url } } });
    await until(gateway, 'form');
    client = new ModernClient(gateway.url);
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it('is answered in the next request, and the server is called once', async () => {
    const before = callsOf(server);
    const { requests, requestState } = required(await client.call('form'));
    const [[key, request] = ['', undefined]] = Object.entries(requests);
    expect(request).toMatchObject({ method: 'elicitation/create', params: { message: 'Well?' } });
    const { last } = await client.call('form', { requestState, inputResponses: { [key]: accepted('yes') } });
    expect(last.result).toMatchObject({
      resultType: 'complete',
      content: [{ type: 'text', text: JSON.stringify(accepted('yes')) }],
    });
    expect(callsOf(server) - before).toBe(1);
  });

  it('asked together with another is passed on together with it, and unanswered ones are asked again', async () => {
    const first = required(await client.call('both'));
    const [[one], [two]] = Object.entries(first.requests) as [[string, object], [string, object]];
    const second = required(
      await client.call('both', {
        requestState: first.requestState,
        inputResponses: { [one]: accepted('1'), nonsense: {} },
      }),
    );
    expect(Object.keys(second.requests)).toEqual([two]);
    expect(second.requestState).not.toBe(first.requestState);
    const { last } = await client.call('both', {
      requestState: second.requestState,
      inputResponses: { [two]: accepted('2') },
    });
    expect(JSON.stringify(last.result)).toMatch(/\\"1\\".*\\"2\\"/);
  });

  it('answered twice, by a client that sends its request again, reaches the server once, and both get the result', async () => {
    const before = [callsOf(server), server.answers.values.length] as const;
    const { requests, requestState } = required(await client.call('form'));
    const [key = ''] = Object.keys(requests);
    const again = { requestState, inputResponses: { [key]: accepted('once') } };
    const answers = await Promise.all([client.call('form', again), client.call('form', again)]);
    const late = await client.call('form', again);
    for (const { last } of [...answers, late]) expect(JSON.stringify(last.result)).toContain('once');
    expect([callsOf(server) - before[0], server.answers.values.length - before[1]]).toEqual([1, 1]);
  });

  it('with a state that was changed or belongs to another request is refused, and the call goes on waiting', async () => {
    const { requests, requestState } = required(await client.call('form'));
    const [key = ''] = Object.keys(requests);
    const inputResponses = { [key]: accepted('mine') };
    for (const state of [
      `${requestState}-TAMPERED`,
      requestState.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A')),
      'nonsense',
    ]) {
      expect((await client.call('form', { requestState: state, inputResponses })).last.error).toMatchObject({
        code: -32_602,
        data: { reason: 'state.invalid' },
      });
    }
    expect(
      (await client.request('tools/call', { name: 'form', arguments: { other: true }, requestState, inputResponses }))
        .last.error,
    ).toMatchObject({ data: { reason: 'state.invalid' } });
    expect((await client.call('both', { requestState, inputResponses })).last.error).toMatchObject({
      data: { reason: 'state.invalid' },
    });
    expect(JSON.stringify((await client.call('form', { requestState, inputResponses })).last.result)).toContain('mine');
  });

  it('with an invalid answer is refused without reaching the server', async () => {
    const before = server.answers.values.length;
    const { requests, requestState } = required(await client.call('form'));
    const [key = ''] = Object.keys(requests);
    expect((await client.call('form', { requestState, inputResponses: { [key]: 12 } })).last.error).toMatchObject({
      code: -32_602,
      data: { reason: 'params.invalid' },
    });
    expect(
      (await client.call('form', { requestState, inputResponses: { [key]: { action: 'perhaps' } } })).last.error,
    ).toMatchObject({ code: -32_602 });
    expect(server.answers.values.length).toBe(before);
    await client.call('form', { requestState, inputResponses: { [key]: { action: 'decline' } } });
  });

  it("whose server no longer waits ends with the server's answer", async () => {
    const { requests, requestState } = required(await client.call('impatient'));
    server.hurried.add(true);
    const [key = ''] = Object.keys(requests);
    const { last } = await client.call('impatient', {
      requestState,
      inputResponses: { [key]: { action: 'accept', content: {} } },
    });
    expect(JSON.stringify(last.result)).toContain('I could not wait');
  });

  it('never reaches a client that did not declare the capability', async () => {
    using plain = new ModernClient(gateway.url, {});
    const { last } = await plain.call('form');
    expect(last.result?.['resultType']).not.toBe('input_required');
  });

  it('does not delay others: four clients at once get their own answers', async () => {
    const clients = ['a', 'b', 'c', 'd'].map((name) => ({ name, each: new ModernClient(gateway.url) }));
    await Promise.all(
      clients.map(async ({ name, each }) => {
        const { requests, requestState } = required(
          await each.request('tools/call', { name: 'form', arguments: { say: name } }),
        );
        const [[key, { params }] = ['', { params: {} }]] = Object.entries(requests);
        expect(params).toMatchObject({ message: name });
        const { last } = await each.request('tools/call', {
          name: 'form',
          arguments: { say: name },
          requestState,
          inputResponses: { [key]: accepted(name) },
        });
        expect(JSON.stringify(last.result)).toContain(`\\"${name}\\"`);
        each[Symbol.dispose]();
      }),
    );
  });
});

it("a question that is never answered is answered in the client's place, and its state is invalid afterwards", async () => {
  await using server = await EraServer.start('2025-11-25');
  await using gateway = await startGateway(
    'embedded',
    { timeouts: { human: '1m' }, mcpServers: { up: { url: server.url } } },
    turnable,
  );
  await until(gateway, 'form');
  using client = new ModernClient(gateway.url);
  const { requests, requestState } = required(await client.call('form'));
  const [answer] = await turningUntil(gateway.edge, server.answers.until(1));
  expect(answer?.error).toMatchObject({ data: { reason: 'input.timeout' } });
  const [key = ''] = Object.keys(requests);
  // The time of the client to come back is over; a minute later the answer is gone too, of which the wall clock, not turned here, would tell that it is late.
  await turnByMinute(gateway.edge);
  const { last } = await client.call('form', { requestState, inputResponses: { [key]: accepted('late') } });
  expect(['state.invalid', 'state.lost']).toContain(last.error?.data?.['reason']);
  expect(callsOf(server)).toBe(1);
});

it('a client that goes away while its call runs cancels it at the server', async () => {
  await using server = await EraServer.start('2025-11-25');
  await using gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: server.url } } });
  await until(gateway, 'wait');
  const client = new ModernClient(gateway.url);
  const heard = new Heard<string | undefined>();
  const call = client.stream('tools/call', { name: 'wait', arguments: {}, _meta: { progressToken: 1 } }, (message) =>
    Promise.resolve(heard.add(message.method)),
  );
  await heard.until(1);
  client[Symbol.dispose]();
  await expect(call).rejects.toThrow();
  using other = new ModernClient(gateway.url);
  while (!server.seen.some(({ method }) => method === 'notifications/cancelled')) await other.request('tools/list');
});

describe('with several session workers', () => {
  let server: EraServer;
  let gateway: GatewayUnderTest;
  let client: ModernClient;

  beforeAll(async () => {
    server = await EraServer.start('2025-11-25');
    gateway = await startGateway('nats', { mcpServers: { up: { url: server.url } } });
    await until(gateway, 'form');
    client = new ModernClient(gateway.url);
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    await endNow(gateway);
    await server[Symbol.asyncDispose]();
  });

  it('the answer reaches the worker that holds the call, whichever worker gets the request', async () => {
    await gateway.startPart('session');
    for (let round = 0; round < 12; round += 1) {
      const { requests, requestState } = required(await client.call('form'));
      const [key = ''] = Object.keys(requests);
      expect(
        JSON.stringify(
          (await client.call('form', { requestState, inputResponses: { [key]: accepted(`round ${round}`) } })).last
            .result,
        ),
      ).toContain(`round ${round}`);
    }
    expect(callsOf(server)).toBe(12);
  });

  it('a caller other than that of the call is refused, even with a valid state', async () => {
    const { requestState, requests } = required(await client.call('form'));
    const [key = ''] = Object.keys(requests);
    const bus = await openNatsBus(
      { servers: gateway.bus as string, clientName: 'mallory', inboxPrefix: inboxOf('edge'), connectTimeoutMs: 5_000 },
      () => undefined,
    );
    const frames = new Heard<StreamFrame>();
    const { body } = client.compose('tools/call', {
      name: 'form',
      arguments: {},
      requestState,
      inputResponses: { [key]: accepted('stolen') },
    });
    const stolen = {
      kind: 'request',
      key: 'mallory' as never,
      caller: { principal: 'mallory' as Principal, endpoint: '' as never },
      request: body as never,
      context: { capabilities: {}, logLevel: undefined },
      parameterHeaders: {},
    } as const;
    bus.request(subjects.modern(undefined), stolen, { reply: frames.add, failed: () => undefined });
    expect((await frames.until(1))[0]).toMatchObject({ kind: 'refused', fault: { reason: 'caller.unproven' } });
    await bus.drain();
  });

  it('a call between two rounds goes on at another worker when its own was killed, and is not executed again', async () => {
    const before = callsOf(server);
    const { requests, requestState } = required(await client.call('form'));
    const [key = ''] = Object.keys(requests);
    const holders = gateway.processes.filter(
      (part: RunningProcess) => part !== gateway.edge && part !== gateway.backend,
    );
    await gateway.startPart('session');
    await gateway.lose(...holders);
    const { last } = await client.call('form', {
      requestState,
      inputResponses: { [key]: accepted('at another worker') },
    });
    expect(JSON.stringify(last.result ?? last.error)).toContain('at another worker');
    expect(callsOf(server) - before).toBe(1);
  });
});

it('a request that wants log messages has an older server set to its level before it is called', async () => {
  await using server = await EraServer.start('2025-11-25');
  await using gateway = await startGatewayHere('embedded', { mcpServers: { up: { url: server.url } } });
  await until(gateway, 'log');
  using client = new ModernClient(gateway.url);
  const logged = async (more: object): Promise<unknown[]> =>
    (await client.call('log', { ...more })).messages
      .filter(({ method }) => method === 'notifications/message')
      .map(({ params }) => params?.['data']);
  expect(await logged({})).toEqual([]);
  expect(await logged({ _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } })).toEqual(['loud']);
  expect(await logged({})).toEqual([]);
  expect(
    server.seen.filter(({ method }) => method === 'logging/setLevel').map(({ params }) => params['level']),
  ).toEqual(['warning']);
});
