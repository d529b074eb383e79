/**
 * Calls, cancellations, late answers and disconnects of several clients and servers at the same time: each call gets its own answer, once, and no client
 * receives messages of another. The schedules are generated; a failing one is printed with its seed and shrunk.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject, JsonRpcId } from '@omnibus/protocol';
import { EraClient } from '../matrix/era-client.ts';
import { EraServer } from '../matrix/era-server.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { RawClient, type Message } from '../support/raw-client.ts';

const kinds = [
  'echo',
  'progress',
  'question',
  'fail',
  'cancel',
  'cancel, late answer',
  'disconnect',
  'alone',
  'alone, question',
  'alone, cancel',
] as const;

/** One action of a client. Ids repeat within a session and have both types, as with real clients. */
const action = fc.record({
  client: fc.nat(3),
  server: fc.constantFrom('one', 'two', 'three'),
  kind: fc.constantFrom(...kinds),
  id: fc.constantFrom<JsonRpcId>(1, 2, '1', '2', 0),
});
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

describe.each(shapesOfLane)('interleaved, %s', (shape) => {
  let gateway: GatewayHere;
  let servers: readonly EraServer[];
  let count = 0;

  beforeAll(async () => {
    servers = [
      await EraServer.start('2025-11-25'),
      await EraServer.start('2025-06-18'),
      await EraServer.start('2026-07-28'),
    ];
    gateway = await startGatewayHere(shape, {
      mcpServers: { one: { url: servers[0]?.url }, two: { url: servers[1]?.url }, three: { url: servers[2]?.url } },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => ['one', 'two', 'three'].every((server) => names.includes(`${server}__echo`)));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  it('every call gets its own answer, once, and nothing of another', { timeout: 180_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 40 }), async (schedule) => {
        const raw = await Promise.all([0, 1, 2, 3].map(() => RawClient.open(gateway.url)));
        const asked = await Promise.all([0, 1, 2, 3].map((index) => openAsked(gateway.url, `client-${index}`)));
        try {
          await Promise.all(
            schedule.map((each) => {
              count += 1;
              return perform(each, raw[each.client] as RawClient, asked[each.client] as EraClient, `tag-${count}`);
            }),
          );
        } finally {
          for (const client of [...raw, ...asked]) client[Symbol.dispose]();
        }
      }),
      { numRuns: 25 },
    );
  });
});

/** A client that answers every question with its own name and the text of the question. */
function openAsked(url: string, name: string): Promise<EraClient> {
  return EraClient.open({
    url,
    revision: '2025-11-25',
    capabilities: { elicitation: { form: {} } },
    answers: {
      'elicitation/create': ({ message }) => ({
        action: 'accept',
        content: { answer: `${name} was asked ${String(message)}` },
      }),
    },
  });
}

async function perform(
  { client: index, server, kind, id }: Action,
  raw: RawClient,
  asked: EraClient,
  tag: string,
): Promise<void> {
  const named = (tool: string): string => `${server}__${tool}`;
  switch (kind) {
    case 'echo': {
      const { messages } = await raw.callTool(named('echo'), { say: tag }, undefined, id);
      expect(messages).toEqual([{ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: tag }] } }]);
      return;
    }
    case 'progress': {
      const { messages, last } = await raw.callTool(named('progress'), {}, { progressToken: tag }, id);
      expect(messages.slice(0, -1).map(({ params }) => [params?.['progressToken'], params?.['progress']])).toEqual([
        [tag, 1],
        [tag, 2],
        [tag, 3],
      ]);
      expect(last.id).toBe(id);
      return;
    }
    case 'question': {
      const { result } = await asked.call(named('form'), { say: tag });
      expect(JSON.stringify(result)).toContain(`client-${index} was asked ${tag}`);
      return;
    }
    case 'fail': {
      const { messages } = await raw.callTool(named('nothing'), {}, undefined, id);
      expect(messages).toHaveLength(1);
      expect(messages[0]).toMatchObject({ id, error: { code: -32_602 } });
      return;
    }
    case 'cancel':
    case 'cancel, late answer':
      await cancel(raw, named('wait'), tag, kind !== 'cancel');
      return;
    case 'disconnect':
      await disconnect(raw, named('echo'), tag);
      return;
    case 'alone': {
      using client = new ModernClient(raw.url);
      const { messages } = await client.request('tools/call', {
        name: named('progress'),
        arguments: {},
        _meta: { progressToken: tag },
      });
      expect(messages.slice(0, -1).map(({ params }) => [params?.['progressToken'], params?.['progress']])).toEqual([
        [tag, 1],
        [tag, 2],
        [tag, 3],
      ]);
      return;
    }
    case 'alone, question': {
      using client = new ModernClient(raw.url);
      const call = { name: named('form'), arguments: { say: tag } };
      const { requests, requestState } = required(await client.request('tools/call', call));
      const [[key, { params }] = ['', { params: {} }]] = Object.entries(requests);
      expect(params).toMatchObject({ message: tag });
      const { last } = await client.request('tools/call', {
        ...call,
        requestState,
        inputResponses: { [key]: { action: 'accept', content: { answer: tag } } },
      });
      expect(JSON.stringify(last.result)).toContain(tag);
      return;
    }
    case 'alone, cancel': {
      const client = new ModernClient(raw.url);
      const gone = client.stream(
        'tools/call',
        { name: named('wait'), arguments: {}, _meta: { progressToken: tag } },
        ({ params }) => {
          expect(params?.['progressToken']).toBe(tag);
          client[Symbol.dispose]();
          return Promise.resolve();
        },
      );
      await expect(gone).rejects.toThrow();
    }
  }
}

/** A cancelled request is never answered: its stream ends without another message (2025-11-25 basic/utilities/cancellation). */
async function cancel(client: RawClient, name: string, tag: string, late: boolean): Promise<void> {
  const heard: Message[] = [];
  const answer = await client.stream(
    {
      jsonrpc: '2.0',
      id: tag,
      method: 'tools/call',
      params: { name, arguments: { late }, _meta: { progressToken: tag } },
    },
    async (message) => {
      heard.push(message);
      // After the first message, the server works on the request.
      if (heard.length === 1)
        await client.post({
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: tag, reason: 'enough' },
        });
    },
  );
  expect(answer).toBe(200);
  expect(heard.map(({ method, params }) => [method, params?.['progressToken']])).toEqual([
    ['notifications/progress', tag],
  ]);
}

/** A client that disconnects during a call does not disturb others. */
async function disconnect(client: RawClient, name: string, tag: string): Promise<void> {
  const connection = new AbortController();
  const gone = client
    .post(
      { jsonrpc: '2.0', id: tag, method: 'tools/call', params: { name, arguments: { say: tag } } satisfies JsonObject },
      {},
      connection.signal,
    )
    .catch(() => undefined);
  connection.abort();
  await gone;
}
