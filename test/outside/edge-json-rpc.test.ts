/** JSON-RPC is the same over every transport: the same messages get the same answers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { overEvents, overHttp, overStdio, overWebSocket, type Front } from '../support/fronts.ts';
import { writeConfig } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import type { Message } from '../support/raw-client.ts';

let gateway: GatewayHere;
let config: string;

beforeAll(async () => {
  gateway = await startGatewayHere('embedded', { mcpServers: {} });
  config = await writeConfig({ mcpServers: {} });
});

afterAll(() => gateway[Symbol.asyncDispose]());

const fronts: readonly (readonly [name: string, open: () => Promise<Front>])[] = [
  ['HTTP', () => overHttp(gateway.url)],
  ['HTTP+SSE', () => overEvents(gateway.url)],
  ['a WebSocket', () => overWebSocket(gateway.url)],
  ['stdio', () => overStdio('--config', config)],
  ['stdio joined to a gateway', () => overStdio('--connect', gateway.url)],
];

/** The id of an answer, `none` where it has none, and its reason, its code, or `ok`. */
type Expected = readonly [id: unknown, said: unknown];

interface Row {
  readonly what: string;
  readonly text: string;
  readonly expected: readonly Expected[];
  /** The expected answer to a POST, where one error without an id answers all of it. */
  readonly overHttp?: readonly Expected[];
  /** Whether it is refused before its session is known: over HTTP+SSE the refusal is in the answer to the POST, too. */
  readonly isMalformed?: boolean;
}

const request = (id: unknown, method = 'ping', more: object = {}): object => ({ jsonrpc: '2.0', id, method, ...more });
const row = (what: string, message: unknown, expected: readonly Expected[], onHttp?: readonly Expected[]): Row => ({
  what,
  text: typeof message === 'string' ? message : JSON.stringify(message),
  expected,
  ...(onHttp === undefined ? {} : { overHttp: onHttp }),
});
const none = 'none';

/** Messages that are refused before a session is looked up. */
const malformed: readonly Row[] = [
  row('no JSON', '{"jsonrpc"', [[none, 'message.not_json']]),
  row('a number', '1', [[none, 'message.invalid']]),
  row('a text', '"x"', [[none, 'message.invalid']]),
  row('null', 'null', [[none, 'message.invalid']]),
  row('no version', { id: 1, method: 'ping' }, [[1, 'message.invalid']]),
  row('another version', { jsonrpc: '1.0', id: 'v', method: 'ping' }, [['v', 'message.invalid']]),
  row('a misspelt id', { jsonrpc: '2.0', ID: 1, method: 'ping' }, [[none, 'message.invalid']]),
  row('an id that is null', request(null), [[none, 'message.invalid']]),
  row('an id with a fraction', request(1.5), [[none, 'message.invalid']]),
  row('an id that is an object', request({}), [[none, 'message.invalid']]),
  row('an id that is a list', request([]), [[none, 'message.invalid']]),
  row('an id that is true', request(true), [[none, 'message.invalid']]),
  row('a method that is a number', request('m', 7 as unknown as string), [['m', 'message.invalid']]),
  row('an empty method', request(0, ''), [[0, 'message.invalid']]),
  row('a misspelt method', { jsonrpc: '2.0', id: 'a', method_: 'ping' }, [['a', 'message.invalid']]),
  row('params that are a list', request(2, 'ping', { params: [1] }), [[2, 'message.invalid']]),
  row('a request that answers', request(4, 'ping', { result: {} }), [[4, 'message.invalid']]),
  row('an answer twice', { jsonrpc: '2.0', id: 5, result: {}, error: { code: 1, message: 'm' } }, [
    [5, 'message.invalid'],
  ]),
  row('a result without an id', { jsonrpc: '2.0', result: {} }, [[none, 'message.invalid']]),
  row('a batch of nothing', [], [[none, 'batch.invalid']]),
  row(
    'a batch of too much',
    Array.from({ length: 101 }, () => request(1)),
    [[none, 'batch.invalid']],
  ),
];

const batch = [
  request(1),
  request('a', 'tools/list'),
  7,
  { jsonrpc: '2.0', id: 'b', method_: 'ping' },
  request(2, 'initialize'),
  { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
];
const refusals: readonly Expected[] = [
  [null, 'message.invalid'],
  ['b', 'message.invalid'],
  [2, 'batch.invalid'],
];

const early: readonly Row[] = [
  ...malformed,
  row('a request that needs a session', request('t', 'tools/list'), [['t', 'session.missing']]),
  row('a request with an exact number for an id', '{"jsonrpc":"2.0","id":12345678901234567891,"method":"tools/list"}', [
    ['12345678901234567891', 'session.missing'],
  ]),
  row('a batch', batch, [[1, 'ok'], ['a', 'session.missing'], ...refusals], [[none, 'session.missing']]),
  row(
    'a notification',
    { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
    [],
    [[none, 'session.missing']],
  ),
];

const within: readonly Row[] = [
  row('ping', request(1), [[1, 'ok']]),
  row('params that are null', request('n', 'ping', { params: null }), [['n', 'ok']]),
  row('an id of zero', request(0), [[0, 'ok']]),
  row('an empty id', request(''), [['', 'ok']]),
  row('an id no double holds', '{"jsonrpc":"2.0","id":12345678901234567891,"method":"ping"}', [
    ['12345678901234567891', 'ok'],
  ]),
  row('a method nobody knows', request('u', 'nobody/knows'), [['u', 'method.unknown']]),
  row(
    'initialize again',
    request('i', 'initialize', {
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    }),
    [['i', 'session.initialized']],
  ),
  row('a notification', { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }, []),
  row('a notification nobody knows', { jsonrpc: '2.0', method: 'notifications/nobody' }, []),
];

const lateBatch: readonly Expected[] = [1, 'a', 'b', 2].map((id) => [id, 'batch.unsupported']);
const unreadable = [7, { jsonrpc: '2.0', method_: 'ping' }];
const modern = request('new', 'tools/list', {
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});
const sessions: readonly (readonly [revision: string, readonly Row[]])[] = [
  [
    '2025-11-25',
    [
      ...malformed,
      ...within,
      row('a batch', batch, lateBatch, [[none, 'batch.unsupported']]),
      row(
        'a batch that asks nothing',
        [{ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }],
        [[none, 'batch.unsupported']],
      ),
      row('a batch of which no id can be read', unreadable, [[none, 'batch.unsupported']]),
    ],
  ],
  [
    '2025-03-26',
    [
      ...malformed.map((each) => ({
        ...each,
        isMalformed: true,
        overHttp: each.expected,
        expected: each.expected.map(([id, said]) => [id === none ? null : id, said] as const),
      })),
      ...within,
      row('a batch', batch, [[1, 'ok'], ['a', 'ok'], ...refusals]),
      row('a batch that asks nothing', [{ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }], []),
      row('a batch of which no id can be read', unreadable, [
        [null, 'message.invalid'],
        [null, 'message.invalid'],
      ]),
      row('a batch of 2026-07-28', [modern], [['new', 'batch.unsupported']], [[none, 'batch.unsupported']]),
    ],
  ],
];

function said(message: Message): Expected {
  const id = 'id' in message ? message.id : none;
  const { error } = message;
  return [
    typeof id === 'object' && id !== null ? id.rawJSON : id,
    error === undefined ? 'ok' : (error.data?.['reason'] ?? error.code),
  ];
}

let fences = 0;

/** The answers to the messages, in any order, since answers may overtake each other. */
async function answersTo(
  front: Front,
  rows: readonly Row[],
  name: string,
): Promise<{ readonly heard: unknown; readonly expected: unknown }> {
  const heard: Record<string, readonly string[]> = {};
  const expected: Record<string, readonly string[]> = {};
  for (const { what, text, ...given } of rows) {
    const isInPost = name === 'HTTP' || (name === 'HTTP+SSE' && given.isMalformed === true);
    const due = isInPost ? (given.overHttp ?? given.expected) : given.expected;
    const before = front.heard.values.length;
    front.say(text);
    if (due.length > 0) await front.heard.until(before + due.length);
    fences += 1;
    const fence = `fence-${fences}`;
    front.say(JSON.stringify(request(fence)));
    await front.heard.untilSome(({ id }) => id === fence);
    heard[what] = front.heard.values
      .slice(before)
      .filter(({ id, method }) => id !== fence && method === undefined)
      .map((message) => JSON.stringify(said(message)))
      .toSorted();
    expected[what] = due.map((each) => JSON.stringify(each)).toSorted();
  }
  return { heard, expected };
}

async function initialize(front: Front, revision: string): Promise<void> {
  front.say(
    JSON.stringify(
      request('init', 'initialize', {
        params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      }),
    ),
  );
  expect((await front.heard.untilSome(({ id }) => id === 'init')).result).toMatchObject({ protocolVersion: revision });
  front.say(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
}

describe.each(fronts)('over %s', (name, open) => {
  it('a message before initialize is answered under its own id, if that can be read', async () => {
    await using front = await open();
    const { heard, expected } = await answersTo(front, early, name);
    expect(heard).toEqual(expected);
  });

  it.each(sessions)(
    'a message in a session of %s is answered under its own id, or as its revision requires if the id cannot be read',
    async (revision, rows) => {
      await using front = await open();
      await initialize(front, revision);
      const { heard, expected } = await answersTo(front, rows, name);
      expect(heard).toEqual(expected);
    },
  );
});
