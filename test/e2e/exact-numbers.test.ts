/**
 * Numbers that a double cannot represent pass through the gateway as they were written, in every place and on every way: clients of either era over every
 * transport, with servers of either era over every transport. Servers read and write text (`text-server.ts`).
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseJson, type JsonObject } from '@omnibus/protocol';
import { overEvents, overHttp, overStdio, overWebSocket, type Front } from '../support/fronts.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath, startFixture } from '../support/processes.ts';
import { RawClient, type Message } from '../support/raw-client.ts';

const written = [
  '9007199254740993',
  '-123456789012345678901234567890',
  '1.0',
  '1e400',
  '-0',
  '0.10',
  '1E5',
  '5e-400',
  '-0.0',
  '123456789.00000000000000001',
];
const digits = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String);
const numbers = fc
  .array(
    fc.oneof(
      fc.constantFrom(...written),
      digits,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
      fc.tuple(digits, fc.stringMatching(/^\d{1,20}$/)).map(([whole, rest]) => `${whole}.${rest}`),
      fc.tuple(digits, fc.integer({ min: -500, max: 500 })).map(([whole, power]) => `${whole}e${power}`),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((list) => `[${list.join(',')}]`);
const ids = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }).map(String),
  fc.integer().map(String),
  numbers.map((list) => JSON.stringify(list)),
);

/** Sends one request, and resolves with all messages up to its answer. @param id as it is written. */
type Ask = (method: string, params: string, id: string, name?: string) => Promise<readonly Message[]>;

const prefix = 'io.modelcontextprotocol/';

/** A client of 2026-07-28. */
function alone(url: string): Ask {
  const client = new RawClient(url);
  const envelope = `"${prefix}protocolVersion":"2026-07-28","${prefix}clientCapabilities":{}`;
  return async (method, params, id, name) => {
    const meta = params.includes('"_meta":{')
      ? params.replace('"_meta":{', `"_meta":{${envelope},`)
      : params.replace(/^\{/, `{"_meta":{${envelope}}${params === '{}' ? '' : ','}`);
    const { body } = await client.post(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${meta}}`, {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': name }),
    });
    return (
      body.startsWith('{')
        ? [body]
        : body
            .split('\n')
            .filter((line) => /^data: ?\{/.test(line))
            .map((line) => line.slice(5))
    ).map((text) => parseJson(text) as Message);
  };
}

/** A client with a session, after the handshake. */
async function over(front: Front, capabilities = '{}'): Promise<Ask> {
  front.say(
    `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":{"name":"exact","version":"1"}}}`,
  );
  await front.heard.until(1);
  front.say('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  return async (method, params, id) => {
    const before = front.heard.values.length;
    front.say(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`);
    // One request is open at a time, so the next answer belongs to it.
    await front.heard.untilSome(
      (message) => front.heard.values.indexOf(message) >= before && message.method === undefined,
    );
    return front.heard.values.slice(before);
  };
}

const servers = ['old-http', 'new-http', 'old-stdio', 'new-stdio', 'old-sse', 'old-ws'] as const;
const clients = ['HTTP', 'HTTP+SSE', 'WebSocket', 'omnibus stdio', '2026-07-28'] as const;
const ways = clients.flatMap((client) => servers.map((server) => [client, server] as const));
/** The id as it was written: a number or a string. */
const asWritten = (id: string): string => (id.startsWith('"') ? textOf(JSON.parse(id)) : id);
/** The text of a part of a message, with every number as it was written. */
const textOf = (value: unknown): string => JSON.stringify(value);

describe.each(shapesOfLane)('exact numbers, %s', (shape) => {
  const stack = new AsyncDisposableStack();
  const asks = new Map<string, Ask>();
  let gateway: GatewayHere;

  beforeAll(async () => {
    const addressOf = async (era: string, wire: string): Promise<string> =>
      (await stack.use(startFixture('text-server', [era, wire])).line(/^listening (\S+)$/))[1] as string;
    const [oldHttp, newHttp, oldEvents, oldWebSocket] = await Promise.all([
      addressOf('old', 'http'),
      addressOf('new', 'http'),
      addressOf('old', 'sse'),
      addressOf('old', 'ws'),
    ]);
    const program = (era: string): object => ({ command: 'node', args: [fixturePath('text-server'), era] });
    gateway = stack.use(
      await startGatewayHere(shape, {
        mcpServers: {
          'old-http': { url: oldHttp },
          'new-http': { url: newHttp },
          'old-stdio': program('old'),
          'new-stdio': program('new'),
          'old-sse': { url: oldEvents, type: 'sse' },
          'old-ws': { url: oldWebSocket },
        },
      }),
    );
    using waiting = await RawClient.open(gateway.url);
    await waiting.untilTools((names) => names.length === 3 * servers.length);
    const fronts = [
      await overHttp(gateway.url),
      await overEvents(gateway.url),
      await overWebSocket(gateway.url),
      await overStdio('--connect', gateway.url),
    ];
    for (const [index, front] of fronts.entries()) asks.set(clients[index] as string, await over(stack.use(front)));
    asks.set('2026-07-28', alone(gateway.url));
  });
  afterAll(() => stack.disposeAsync());

  it.each(ways)(
    'a client over %s and the server %s receive every number as the other wrote it',
    async (client, server) => {
      const ask = asks.get(client) as Ask;
      await fc.assert(
        fc.asyncProperty(numbers, ids, async (list, id) => {
          const hear = `${server}__hear`;
          const [heard] = (
            await ask(
              'tools/call',
              `{"name":"${hear}","arguments":{"numbers":${list},"deep":[{"numbers":${list}}]},"_meta":{"example.com/n":${list}}}`,
              id,
              hear,
            )
          ).slice(-1);
          expect(textOf(heard?.id)).toBe(asWritten(id));
          const reached = parseJson((heard?.result as { content: [{ text: string }] }).content[0].text) as {
            params: { arguments: JsonObject; _meta: JsonObject };
          };
          expect([textOf(reached.params.arguments), textOf(reached.params._meta['example.com/n'])]).toEqual([
            `{"numbers":${list},"deep":[{"numbers":${list}}]}`,
            list,
          ]);

          const say = `${server}__say`;
          const told = (first: readonly string[], last: string): Promise<readonly Message[]> =>
            ask(
              'tools/call',
              `{"name":"${say}","arguments":{"first":${JSON.stringify(first)},"last":${JSON.stringify(last)}},"_meta":{"progressToken":${id}}}`,
              id,
              say,
            );
          const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":50.0,"total":1e400,"_meta":{"numbers":${list}}}}`;
          const [event, answer] = await told(
            [progress],
            `"result":{"content":[{"type":"text","text":"","_meta":{"n":${list}}}],"structuredContent":{"numbers":${list}},"_meta":{"example.com/n":${list}},"unknown":${list}}`,
          );
          expect(textOf(event?.params)).toContain('"progress":50.0,"total":1e400');
          expect([
            textOf(event?.params?.['progressToken']),
            textOf((event?.params?.['_meta'] as JsonObject)['numbers']),
          ]).toEqual([asWritten(id), list]);
          const { content, structuredContent, _meta, unknown } = answer?.result as {
            content: [{ _meta: JsonObject }];
            structuredContent: JsonObject;
            _meta: JsonObject;
            unknown: unknown;
          };
          expect(
            [content[0]._meta['n'], structuredContent['numbers'], _meta['example.com/n'], unknown].map(textOf),
          ).toEqual([list, list, list, list]);

          const [failed] = (await told([], `"error":{"code":-32050,"message":"no","data":{"numbers":${list}}}`)).slice(
            -1,
          );
          expect(textOf(failed?.error)).toBe(`{"code":-32050,"message":"no","data":{"numbers":${list}}}`);
        }),
        { numRuns: 6 },
      );
    },
  );

  it.each(clients)(
    'resources, schemas and answers of the gateway itself keep exact numbers for a client over %s',
    async (client) => {
      const ask = asks.get(client) as Ask;
      await fc.assert(
        fc.asyncProperty(numbers, ids, async (list, id) => {
          const uri = `omnibus://old-stdio/numbers://x/${encodeURIComponent(list)}`;
          const [read] = (await ask('resources/read', `{"uri":"${uri}"}`, id, uri)).slice(-1);
          expect(textOf((read?.result as { contents: [{ _meta: JsonObject }] }).contents[0]._meta['numbers'])).toBe(
            list,
          );
          const [refused] = (await ask('prompts/get', '{"name":"nobody"}', id, 'nobody')).slice(-1);
          expect([textOf(refused?.id), refused?.error?.code]).toEqual([asWritten(id), -32_601]);
        }),
        { numRuns: 4 },
      );
      const [listed] = (await ask('tools/list', '{}', '"list"')).slice(-1);
      expect(textOf(listed)).toContain('"maximum":9007199254740993,"default":1.0');
    },
  );

  it.each(['old-stdio', 'old-ws'])(
    'questions of the server %s and the answers to them keep exact numbers',
    async (server) => {
      const front = stack.use(await overWebSocket(gateway.url));
      const ask = await over(front, '{"sampling":{}}');
      await fc.assert(
        fc.asyncProperty(numbers, async (list) => {
          const params = `{"messages":[],"maxTokens":10,"temperature":1.0,"metadata":{"numbers":${list}},"_meta":{"example.com/n":${list}}}`;
          const answered = ask(
            'tools/call',
            `{"name":"${server}__ask","arguments":{"last":${JSON.stringify(params)}}}`,
            '7',
          );
          const before = front.heard.values.length;
          const question = await front.heard.untilSome(
            (message) => front.heard.values.indexOf(message) >= before && message.method === 'sampling/createMessage',
          );
          expect(['temperature', 'metadata'].map((member) => textOf(question.params?.[member]))).toEqual([
            '1.0',
            `{"numbers":${list}}`,
          ]);
          expect(textOf((question.params?.['_meta'] as JsonObject)['example.com/n'])).toBe(list);
          front.say(
            `{"jsonrpc":"2.0","id":${JSON.stringify(question.id)},"result":{"role":"assistant","model":"none","content":{"type":"text","text":"","_meta":{"n":${list}}},"_meta":{"example.com/n":${list}}}}`,
          );
          const [answer] = (await answered).slice(-1);
          const reached = parseJson((answer?.result as { content: [{ text: string }] }).content[0].text) as {
            result: { content: { _meta: JsonObject }; _meta: JsonObject };
          };
          expect([reached.result.content._meta['n'], reached.result._meta['example.com/n']].map(textOf)).toEqual([
            list,
            list,
          ]);
        }),
        { numRuns: 6 },
      );
    },
  );

  it('ids that are equal as doubles are different', async () => {
    using client = await RawClient.open(gateway.url);
    const answers = await Promise.all(
      ['9007199254740993', '9007199254740992'].map((id) =>
        client.post(
          `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"old-http__hear","arguments":{}}}`,
        ),
      ),
    );
    expect(answers.map(({ body }) => /"id":(\d+)/.exec(body)?.[1])).toEqual(['9007199254740993', '9007199254740992']);
  });
});
