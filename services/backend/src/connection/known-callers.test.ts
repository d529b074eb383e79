/** State of a server for a known caller: with sessions over HTTP, in a program, in either era, and its isolation. */
import { describe, expect, it } from 'vitest';
import {
  newRequestKey,
  type ExchangeContext,
  type ExchangeEvent,
  type JsonObject,
  type Principal,
  type SessionKey,
} from '@omnibus/protocol';
import { AdapterUnderTest } from '../adapter-under-test.ts';

const [ann, bob] = ['p_ann', 'p_bob'] as [Principal, Principal];
const newSession = (): SessionKey => newRequestKey() as string as SessionKey;

/** Counts its calls, and says which methods it has heard; it announces a touched resource to its subscribers. */
const source = `
const [era] = process.argv.slice(1);
const heard = [];
let calls = 0;
const subscribed = new Map();
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const introduction = { capabilities: { tools: {}, resources: { subscribe: true } }, serverInfo: { name: 'counter', version: '1' } };
const answers = {
  'initialize': () => (era === 'modern' ? undefined : { ...introduction, protocolVersion: '2025-11-25' }),
  'server/discover': () => (era === 'legacy' ? undefined : { ...introduction, resultType: 'complete', supportedVersions: ['2026-07-28'], ttlMs: 0, cacheScope: 'private' }),
  'ping': () => ({}),
  'tools/list': () => ({ resultType: 'complete', ttlMs: 60000, cacheScope: 'private', tools: [{ name: 'count', inputSchema: { type: 'object' } }] }),
  'resources/list': () => ({ resultType: 'complete', ttlMs: 60000, cacheScope: 'private', resources: [] }),
  'resources/templates/list': () => ({ resultType: 'complete', ttlMs: 60000, cacheScope: 'private', resourceTemplates: [] }),
  'tools/call': () => {
    calls += 1;
    for (const [uri, meta] of subscribed) say({ method: 'notifications/resources/updated', params: { uri, ...meta } });
    return { resultType: 'complete', content: [{ type: 'text', text: [calls, ...new Set(heard)].join(' ') }] };
  },
  'resources/subscribe': ({ uri }) => (subscribed.set(uri, {}), {}),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  heard.push(method);
  if (method === 'subscriptions/listen' && era !== 'legacy') {
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
    for (const uri of params.notifications.resourceSubscriptions ?? []) subscribed.set(uri, { _meta });
    say({ method: 'notifications/subscriptions/acknowledged', params: { notifications: params.notifications, _meta } });
    return;
  }
  const result = answers[method]?.(params);
  say(result === undefined ? { id, error: { code: -32601, message: 'no such method' } } : { id, result });
}).on('close', () => process.exit());
`;

const program = (era: 'legacy' | 'modern' | 'both', isolation = 'auto', more: object = {}): object => ({
  url: undefined,
  command: 'node',
  args: ['-e', source, '--', era],
  isolation,
  ...more,
});

/** A request of 2026-07-28 by this caller: the edge knows no more of its client. */
const alone = (principal: Principal): Partial<ExchangeContext> => ({
  principal,
  standsAlone: true,
  client: { id: principal, isOne: false },
});

/** The description of the program that served a call. */
async function count(up: AdapterUnderTest, session: SessionKey, more: Partial<ExchangeContext>): Promise<string> {
  const event = await up.call(session, 'tools/call', { name: 'count', arguments: {} }, more);
  return event.kind === 'result' ? textOf(event.result) : JSON.stringify(event);
}

function textOf({ content }: JsonObject): string {
  return (content as readonly { readonly text: string }[])[0]?.text ?? '';
}

const numberIn = (said: string): number => Number.parseInt(said, 10);

async function counts(
  up: AdapterUnderTest,
  ...by: readonly (readonly [SessionKey, Partial<ExchangeContext>])[]
): Promise<number[]> {
  const said: number[] = [];
  for (const [session, more] of by) said.push(numberIn(await count(up, session, more)));
  return said;
}

describe('a program', () => {
  it.for(['legacy', 'modern', 'both'] as const)(
    'of era "%s" keeps the state of a known caller from others, and for all sessions of that caller',
    async (era) => {
      await using up = await AdapterUnderTest.start({}, program(era));
      await up.adapter.firstAttempt;
      const [one, two, three] = [newSession(), newSession(), newSession()];
      expect(
        await counts(
          up,
          [one, { principal: ann }],
          [two, { principal: ann }],
          [three, { principal: bob }],
          [one, { principal: ann }],
          [three, { principal: bob }],
        ),
      ).toEqual([1, 2, 1, 3, 2]);
      expect(
        await counts(up, [newSession(), alone(ann)], [newSession(), alone(ann)], [newSession(), alone(bob)]),
      ).toEqual(era === 'both' ? [1, 2, 1] : [4, 5, 3]);
    },
  );

  it('is one for callers who need not be known, also beside known ones', async () => {
    await using up = await AdapterUnderTest.start({}, program('legacy'));
    expect(await counts(up, [newSession(), {}], [newSession(), { principal: ann }], [newSession(), {}])).toEqual([
      1, 1, 2,
    ]);
  });

  it('that everybody is to share is one for known callers too', async () => {
    await using up = await AdapterUnderTest.start({}, program('legacy', 'shared'));
    expect(await counts(up, [newSession(), { principal: ann }], [newSession(), { principal: bob }])).toEqual([1, 2]);
  });

  it('of 2026-07-28 belongs to one session if so configured, and to a known caller for requests without a session', async () => {
    await using up = await AdapterUnderTest.start({}, program('modern', 'session'));
    await up.adapter.firstAttempt;
    const [one, two] = [newSession(), newSession()];
    expect(
      await counts(
        up,
        [one, { principal: ann }],
        [two, { principal: ann }],
        [one, { principal: ann }],
        [newSession(), {}],
      ),
    ).toEqual([1, 1, 2, 1]);
    expect(
      await counts(up, [newSession(), alone(ann)], [newSession(), alone(bob)], [newSession(), alone(ann)]),
    ).toEqual([1, 1, 2]);
  });

  it("of 2026-07-28 is a known caller's where that was said", async () => {
    await using up = await AdapterUnderTest.start({}, program('modern', 'principal'));
    await up.adapter.firstAttempt;
    expect(
      await counts(
        up,
        [newSession(), { principal: ann }],
        [newSession(), alone(ann)],
        [newSession(), { principal: bob }],
      ),
    ).toEqual([1, 2, 1]);
  });

  it('of a known caller gets no request for lists: the shared ones are prepared already', async () => {
    for (const era of ['legacy', 'modern'] as const) {
      await using up = await AdapterUnderTest.start({}, program(era));
      await up.adapter.firstAttempt;
      expect(up.tools).toEqual(['count']);
      up.control({
        kind: 'wanted',
        caller: { principal: ann, session: newSession(), standsAlone: true, capabilities: {} },
      });
      if (era === 'modern')
        up.control({
          kind: 'wanted',
          caller: { principal: ann, session: newSession(), standsAlone: true, capabilities: { sampling: {} } },
        });
      expect(await count(up, newSession(), { principal: ann })).not.toContain('/list');
      expect(await count(up, newSession(), {})).toContain('tools/list');
    }
  });

  it.for(['legacy', 'modern'] as const)(
    'of era "%s" tells a known caller what he subscribed to in his',
    async (era) => {
      await using up = await AdapterUnderTest.start({}, program(era));
      await up.adapter.firstAttempt;
      const [mine, hers] = [newSession(), newSession()];
      const answer = await up.call(mine, 'resources/subscribe', { uri: 'note://1' }, { principal: ann });
      expect(answer).toMatchObject({ kind: 'result' });
      await count(up, hers, { principal: bob });
      await count(up, mine, { principal: ann });
      await expect.poll(() => up.notices.values.length).toBeGreaterThan(0);
      for (const notice of up.notices.values)
        expect(notice).toMatchObject({ kind: 'resource-updated', uri: 'note://1', sessions: [mine] });
    },
  );

  it('beyond the limit is refused to a known caller with the reason, and an unused one makes room', async () => {
    await using up = await AdapterUnderTest.start({}, program('legacy', 'auto', { maxConnections: 1 }));
    await up.adapter.firstAttempt;
    expect(
      await counts(
        up,
        [newSession(), { principal: ann }],
        [newSession(), { principal: bob }],
        [newSession(), { principal: ann }],
      ),
    ).toEqual([1, 1, 1]);
    const [first, second] = await Promise.all([
      count(up, newSession(), { principal: ann }),
      count(up, newSession(), { principal: bob }),
    ]);
    expect(numberIn(first)).toBe(2);
    expect(second).toContain('maxConnections (1) of the server');
  });
});

describe('a server over HTTP', () => {
  const sessions = (up: AdapterUnderTest): readonly (string | undefined)[] =>
    up.heard.values.filter(({ method }) => method === 'tools/call').map(({ session }) => session);
  const calls = async (up: AdapterUnderTest): Promise<void> => {
    await up.adapter.firstAttempt;
    const of = (principal: Principal): Promise<ExchangeEvent> =>
      up.call(newSession(), 'tools/call', { name: 'act', arguments: {} }, { principal });
    for (const principal of [ann, bob, ann]) expect(await of(principal)).toMatchObject({ kind: 'result' });
    for (const _ of [1, 2])
      expect(await up.call(newSession(), 'tools/call', { name: 'act', arguments: {} })).toMatchObject({
        kind: 'result',
      });
  };

  it('that keeps sessions has one for each known caller, and one for anonymous callers', async () => {
    await using up = await AdapterUnderTest.start({});
    await calls(up);
    expect(sessions(up)).toEqual(['session-2', 'session-3', 'session-2', 'session-1', 'session-1']);
  });

  it.for(['legacy', 'modern', 'both'] as const)(
    'of era "%s" that begins a session with a later answer gives no caller the session of another',
    async (era) => {
      const counted = new Map<string, number>();
      const introduction = { capabilities: { tools: {} }, serverInfo: { name: 'late', version: '1' } };
      const fresh = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
      const results: Record<string, (session: string) => JsonObject | undefined> = {
        initialize: () => (era === 'modern' ? undefined : { ...introduction, protocolVersion: '2025-11-25' }),
        'server/discover': () =>
          era === 'legacy' ? undefined : { ...introduction, ...fresh, supportedVersions: ['2026-07-28'] },
        'tools/list': () => ({ ...fresh, tools: [{ name: 'count', inputSchema: { type: 'object' } }] }),
        'tools/call': (session) => {
          counted.set(session, (counted.get(session) ?? 0) + 1);
          return { resultType: 'complete', content: [{ type: 'text', text: String(counted.get(session)) }] };
        },
      };
      await using up = await AdapterUnderTest.start({
        says: ({ id, method, session = newRequestKey() }, response) => {
          const result = results[method]?.(session);
          if (id === undefined || result === undefined) return undefined;
          const type = { 'content-type': 'application/json' };
          response
            .writeHead(200, method.startsWith('tools/') ? { ...type, 'mcp-session-id': session } : type)
            .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
          return 'silence';
        },
        hasSessions: false,
      });
      await up.adapter.firstAttempt;
      const [one, two] = [newSession(), newSession()];
      expect(await counts(up, [one, { principal: ann }], [two, { principal: bob }], [one, { principal: ann }])).toEqual(
        [1, 1, 1],
      );
      expect(
        await counts(up, [newSession(), alone(ann)], [newSession(), alone(bob)], [newSession(), alone(ann)]),
      ).toEqual([1, 1, 1]);
    },
  );

  it('that keeps none is talked to over one connection', async () => {
    await using up = await AdapterUnderTest.start({ hasSessions: false });
    await calls(up);
    expect(up.count('initialize')).toBe(1);
  });
});
