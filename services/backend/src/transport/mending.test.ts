import { defaultLimits, RepairCounts, type SessionKey } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { AdapterUnderTest, toolNamed } from '../adapter-under-test.ts';
import { readIncoming } from './incoming.ts';

const session = 'session one' as unknown as SessionKey;

/** A message as it is read, and the names of the repairs. */
function read(message: object): { readonly value: unknown; readonly repairs: readonly string[] } {
  const repairs = new RepairCounts();
  const incoming = readIncoming(JSON.stringify(message), { ...defaultLimits, repairs });
  return {
    value: 'value' in incoming ? incoming.value : incoming.problem,
    repairs: repairs.rows.map(({ repair }) => repair),
  };
}

const result = { content: [] };
const head = { jsonrpc: '2.0', id: 7 };
const error = { code: -32_602, message: 'no' };

describe('a message of a server', () => {
  it.each([
    ['an error that is null beside a result', { ...head, result, error: null }, { ...head, result }, 'null-answer'],
    ['a result that is null beside an error', { ...head, result: null, error }, { ...head, error }, 'null-answer'],
    [
      'params that are null',
      { jsonrpc: '2.0', method: 'notifications/x', params: null },
      { jsonrpc: '2.0', method: 'notifications/x' },
      'null-params',
    ],
    ['a result that is an empty list', { ...head, result: [] }, { ...head, result: {} }, 'empty-object'],
    [
      'params that are an empty list',
      { jsonrpc: '2.0', method: 'notifications/x', params: [] },
      { jsonrpc: '2.0', method: 'notifications/x' },
      'empty-object',
    ],
    ['the id of a request as text', { ...head, id: '7', result }, { ...head, result }, 'text-id'],
    [
      'a progress token as text',
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: '7', progress: 1 } },
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 7, progress: 1 } },
      'text-id',
    ],
    [
      'an error that is a text',
      { ...head, error: 'boom' },
      { ...head, error: { code: -32_603, message: 'boom' } },
      'plain-error',
    ],
    [
      'an error whose code is a word',
      { ...head, error: { code: 'E1', message: 'boom', data: 1 } },
      { ...head, error: { code: -32_603, message: 'boom (E1)', data: 1 } },
      'plain-error',
    ],
    [
      'an error whose code is a number as text',
      { ...head, error: { code: '-32602', message: 'no' } },
      { ...head, error },
      'plain-error',
    ],
    [
      'an error without a message',
      { ...head, error: { reason: 'boom' } },
      { ...head, error: { code: -32_603, message: '{"reason":"boom"}', reason: 'boom' } },
      'plain-error',
    ],
  ])('is read with %s, which is counted', (_what, message, value, repair) => {
    expect(read(message)).toEqual({ value, repairs: [repair] });
  });

  it.each([
    ['that is right', { ...head, result }],
    ['with a list of items as result', { ...head, result: [1] }],
    ['with an error that is right', { ...head, error }],
    ['with neither result nor error', { ...head, error: null }],
    ['with a result and an error', { ...head, result, error }],
    ['with an id that no number has as text', { ...head, id: '07', result }],
    ['with an error without words', { ...head, error: {} }],
    ['with an error that is a number', { ...head, error: 5 }],
    ['that is a question under a text', { ...head, id: '7', method: 'ping' }],
  ])('%s is left as it is', (_what, message) => {
    expect(read(message)).toEqual({ value: message, repairs: [] });
  });

  it.each([
    ['the id of an answer', '{"jsonrpc":"2.0","id":7.0,"result":{"content":[]}}', { ...head, result }],
    ['the id of an error', '{"jsonrpc":"2.0","id":70e-1,"error":{"code":-32602,"message":"no"}}', { ...head, error }],
    [
      'a progress token',
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7.0,"progress":1}}',
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 7, progress: 1 } },
    ],
  ])('is read with %s that is an integer in another form, which is counted', (_what, text, value) => {
    const repairs = new RepairCounts();
    expect(readIncoming(text, { ...defaultLimits, repairs })).toEqual({ value });
    expect(repairs.rows.map(({ repair }) => repair)).toEqual(['text-id']);
  });

  it.each(['7.5', '7e300', '-7.0'])('with %s as id is left as it is', (id) => {
    const repairs = new RepairCounts();
    expect(readIncoming(`{"jsonrpc":"2.0","id":${id},"result":{}}`, { ...defaultLimits, repairs })).toMatchObject({
      value: { jsonrpc: '2.0', result: {} },
    });
    expect(repairs.rows).toEqual([]);
  });

  it('has words of bounded length in a repaired error', () => {
    const { value } = read({ ...head, error: 'x'.repeat(100_000) });
    expect(JSON.stringify(value).length).toBeLessThan(1_200);
  });

  it('in a batch is repaired without the others', () => {
    const [good, bad] = [
      { ...head, result },
      { ...head, id: '8', result },
    ];
    const repairs = new RepairCounts();
    const incoming = readIncoming(JSON.stringify([good, bad]), { ...defaultLimits, repairs });
    expect(incoming).toEqual({ value: [good, { ...bad, id: 8 }] });
  });
});

async function expectUse(it: AdapterUnderTest, isUsed: boolean): Promise<void> {
  await it.adapter.firstAttempt;
  expect(it.record.status).toBe(isUsed ? 'up' : 'down');
  if (isUsed) expect(await it.call(session, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'result' });
}

const answerTo = (method: string): object =>
  method === 'initialize'
    ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } }
    : method === 'tools/list'
      ? { tools: [toolNamed('act')] }
      : result;

it.each(['warn', 'enforce'])(
  'a server that writes ids as text and null beside results is used, and refused with validation: %s',
  async (validation) => {
    await using it = await AdapterUnderTest.start(
      {
        says: ({ id, method }, response) => {
          if (id === undefined) return undefined;
          response
            .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
            .end(JSON.stringify({ jsonrpc: '2.0', id: `${id as number}`, result: answerTo(method), error: null }));
          return 'silence';
        },
      },
      { validation, era: 'legacy' },
    );
    await expectUse(it, validation === 'warn');
    expect(it.repairs.rows.map(({ repair }) => repair)).toEqual(
      validation === 'warn' ? ['text-id', 'null-answer'] : [],
    );
  },
);

it.each(['warn', 'enforce'])(
  'a server with an empty session id, ids with a fraction and a Content-Encoding that packs nothing is used, and refused with validation: %s',
  async (validation) => {
    const sessions: unknown[] = [];
    await using it = await AdapterUnderTest.start(
      {
        says: ({ id, method }, response, { headers }) => {
          sessions.push(headers['mcp-session-id']);
          if (id === undefined) return undefined;
          response
            .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': '', 'content-encoding': 'utf-8' })
            .end(`{"jsonrpc":"2.0","id":${id as number}.0,"result":${JSON.stringify(answerTo(method))}}`);
          return 'silence';
        },
      },
      { validation, era: 'legacy' },
    );
    await expectUse(it, validation === 'warn');
    expect(it.repairs.rows.map(({ repair }) => repair).toSorted()).toEqual(
      validation === 'warn' ? ['empty-session', 'no-packing', 'text-id'] : [],
    );
    expect(sessions.filter((each) => each !== undefined)).toEqual([]);
  },
);

it.each(['warn', 'enforce'])(
  'a server of 2024-10-07 is spoken to as one of 2024-11-05, and refused with validation: %s',
  async (validation) => {
    await using it = await AdapterUnderTest.start(
      {
        says: ({ method }) =>
          method === 'initialize'
            ? {
                result: {
                  protocolVersion: '2024-10-07',
                  capabilities: [],
                  serverInfo: { name: 'old', version: '1' },
                },
              }
            : undefined,
      },
      { validation },
    );
    await it.adapter.firstAttempt;
    expect([it.record.status, it.record.revision]).toEqual(
      validation === 'warn' ? ['up', '2024-11-05'] : ['down', undefined],
    );
  },
);
