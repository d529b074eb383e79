/** Session ids that the specification does not allow, and that the official SDK clients return as they came. */
import { expect, it } from 'vitest';
import { newRequestKey, type JsonObject, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, type ServerScript } from '../adapter-under-test.ts';

const session = newRequestKey() as string as SessionKey;
const results: Readonly<Record<string, JsonObject>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'odd', version: '1' },
  },
  'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};

/**
 * A server that refuses each message without its present session id.
 * @param next the id that its answer to a message brings; undefined for none.
 */
function strict(next: (method: string, count: number) => string | undefined): NonNullable<ServerScript['says']> {
  let current: string | undefined;
  let count = 0;
  return ({ id, method }, response, { headers }) => {
    const isOpening = method === 'initialize';
    if (!isOpening && headers['mcp-session-id'] !== current) {
      response.writeHead(400).end();
      return 'silence';
    }
    const given = next(method, count);
    count += 1;
    current = given ?? (isOpening ? undefined : current);
    const brought = given === undefined ? {} : { 'mcp-session-id': given };
    if (id === undefined) response.writeHead(202, brought).end();
    else
      response
        .writeHead(200, { 'content-type': 'application/json', ...brought })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
    return 'silence';
  };
}

async function answersTwoCalls(
  says: NonNullable<ServerScript['says']>,
  settings: object = {},
): Promise<readonly string[]> {
  await using it = await AdapterUnderTest.start({ says }, { era: 'legacy', ...settings });
  await it.adapter.firstAttempt;
  await it.records.untilSome(({ lists }) => lists.tools.length === 1);
  for (let count = 0; count < 2; count += 1)
    expect(await it.call(session, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'result' });
  return it.repairs.rows.map(({ repair }) => repair);
}

it.each([
  ['blanks', 'host a, session 17'],
  ['a tab', 'a\tb'],
  ['bytes beyond ASCII', 'réunion-\u00A0à'],
])('a session id with %s is returned as it came, and counted', async (_what, given) => {
  expect(await answersTwoCalls(strict((method) => (method === 'initialize' ? given : undefined)))).toEqual([
    'session-text',
  ]);
});

it('a session id of 8,000 characters is returned', async () => {
  const given = 'x'.repeat(8_000);
  expect(await answersTwoCalls(strict((method) => (method === 'initialize' ? given : undefined)))).toEqual([]);
});

it('a session id that comes after the answer to initialize is used from then on', async () => {
  const late = strict((method) => (method === 'notifications/initialized' ? 'late' : undefined));
  expect(await answersTwoCalls(late)).toEqual(['new-session']);
});

it('a session id that each answer replaces is followed', async () => {
  expect(await answersTwoCalls(strict((_method, count) => `session-${count}`))).toEqual(['new-session']);
});

it('a call that is refused with 404 in a replaced session is made again in the present one', async () => {
  const held = Promise.withResolvers<void>();
  let calls = 0;
  await using it = await AdapterUnderTest.start(
    {
      says: async ({ id, method, session: sent }, response) => {
        if (method !== 'tools/call') return undefined;
        calls += 1;
        if (calls === 2) {
          await held.promise;
          response.writeHead(404).end();
        } else {
          response
            .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'newer' })
            .end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: String(sent) }] } }));
        }
        return 'silence';
      },
    },
    { era: 'legacy' },
  );
  await it.adapter.firstAttempt;
  const act = (): Promise<unknown> => it.call(session, 'tools/call', { name: 'act' });
  const [first, second] = [act(), act()];
  await expect.poll(() => calls).toBe(2);
  expect(await first).toMatchObject({ kind: 'result' });
  held.resolve();
  expect(await second).toMatchObject({ kind: 'result', result: { content: [{ text: 'newer' }] } });
  expect(it.count('initialize')).toBe(1);
});

it('with validation: enforce, neither is', async () => {
  for (const says of [
    strict((method) => (method === 'initialize' ? 'a b' : undefined)),
    strict((_method, count) => `session-${count}`),
  ]) {
    await using it = await AdapterUnderTest.start({ says }, { era: 'legacy', validation: 'enforce' });
    await it.adapter.firstAttempt;
    expect(await it.call(session, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'fault' });
  }
});
