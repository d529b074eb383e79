/** Recorded calls, decided by rules of today. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnyRecord } from '@omnibus/audit';
import type { Config } from '@omnibus/config';
import { configOf } from '@omnibus/config/testing';
import { expect, it, onTestFinished } from 'vitest';
import { recordsInOrder } from './records-in-order.ts';
import { openReplay, type Replayed, type ReplayOptions } from './replay.ts';

const servers = {
  web: { url: 'http://127.0.0.1:1/mcp', flow: 'outside' },
  files: { url: 'http://127.0.0.1:2/mcp', flow: 'closed' },
  mail: { url: 'http://127.0.0.1:3/mcp', flow: 'shared', hints: 'believe' },
};

const configWith = (more: object): Config => configOf({ mcpServers: servers, ...more });

let clock = Date.UTC(2026, 10, 20);
/** A record of a call, a second after the one before. */
function called(what: string, more: object = {}): AnyRecord {
  clock += 1_000;
  const [server, tool] = what.split('/');
  return {
    time: new Date(clock).toISOString(),
    'event.name': 'mcp.call',
    'mcp.method.name': 'tools/call',
    'mcp.session.id': 'one',
    'omnibus.principal': 'p_ann',
    'user.id': 'ann',
    'omnibus.endpoint': '/mcp',
    'omnibus.server': server,
    'omnibus.tool': tool,
    'omnibus.outcome': 'ok',
    'omnibus.duration_ms': 10,
    ...more,
  };
}

const guarded = { flow: 'guarded' };
const hints = new Map([['mail/read', { readOnlyHint: true, openWorldHint: true }]]);

async function replayed(
  records: readonly AnyRecord[],
  config: object = guarded,
  more: Partial<ReplayOptions> = {},
): Promise<Replayed> {
  const replay = await openReplay({ config: configWith(config), hints, ...more });
  for (const record of records) replay.add(record);
  return replay.result;
}

const short = ({ rows }: Replayed): readonly string[] =>
  rows.map(({ would, rule, server, item, user, calls }) => `${user} ${server}/${item}: ${would} by ${rule}, ${calls}`);

it('names the calls that would have been asked about, by tool and user, and where their labels are from', async () => {
  const result = await replayed([
    called('web/fetch'),
    called('mail/read'),
    called('mail/send'),
    called('mail/send'),
    called('web/fetch', { 'mcp.session.id': 'two', 'user.id': 'bob' }),
    called('files/write', { 'mcp.session.id': 'two', 'user.id': 'bob' }),
    called('web/fetch', { 'mcp.session.id': 'two', 'user.id': 'bob' }),
    called('mail/send', { 'mcp.session.id': 'three', 'user.id': 'bob' }),
  ]);
  expect(short(result)).toEqual(['ann mail/send: ask by flow:shared, 2', 'bob web/fetch: ask by flow:outside, 1']);
  expect(result.rows[0]?.labels).toEqual(['untrusted since web/fetch', 'private since mail/read']);
  expect(result).toMatchObject({ calls: 8, asked: 3, denied: 0, unsure: 0, unhinted: ['mail'] });
  expect(short(await replayed([called('web/fetch'), called('mail/read'), called('mail/send')], {}))).toEqual([]);
});

it('labels only by what clients got, and decides by the labels at the beginning of a call', async () => {
  const undelivered = (outcome: string): AnyRecord => called('mail/read', { 'omnibus.outcome': outcome });
  expect(
    short(
      await replayed([undelivered('cancelled'), undelivered('unknown'), undelivered('fault'), called('mail/send')]),
    ),
  ).toEqual([]);
  expect(
    short(
      await replayed([
        called('mail/read', { 'omnibus.outcome': 'fault', 'rpc.response.status_code': -32_000 }),
        called('mail/send'),
      ]),
    ),
  ).toHaveLength(1);
  expect(short(await replayed([called('mail/read'), called('mail/send', { 'omnibus.duration_ms': 5_000 })]))).toEqual(
    [],
  );
  expect(short(await replayed([called('mail/read'), called('mail/send', { 'omnibus.outcome': 'denied' })]))).toEqual(
    [],
  );
});

it('takes requests of one caller without a session as one conversation, until an hour has passed', async () => {
  const none = { 'mcp.session.id': undefined };
  const sends = [called('mail/read', none), called('mail/send', none)];
  expect(short(await replayed(sends))).toHaveLength(1);
  expect(
    short(await replayed([called('mail/read', none), called('mail/send', { ...none, 'omnibus.principal': 'p_bob' })])),
  ).toEqual([]);
  const first = called('mail/read', none);
  clock += 3_600_000;
  expect(short(await replayed([first, called('mail/send', none)]))).toEqual([]);
});

it('decides by other rules of a configuration too, and says which depend on facts that no record has', async () => {
  const access = {
    default: 'allow',
    rules: [
      { id: 'crm', who: 'everyone', label: 'files', as: 'crm' },
      { id: 'stays', who: 'everyone', deny: '*', after: 'crm', when: 'server != "files"' },
      { id: 'interns', who: 'group:interns', deny: 'files/write' },
      { id: 'ann', who: 'user:https://i.example|ann', ask: 'files/list' },
    ],
  };
  const result = await replayed(
    [
      called('files/read'),
      called('mail/send'),
      called('files/write'),
      called('files/list', { 'omnibus.issuer': 'https://i.example' }),
      called('files/list', { 'omnibus.issuer': 'https://j.example' }),
    ],
    { access, auth: { keys: { file: 'keys.yaml' } } },
  );
  expect(short(result).toSorted()).toEqual([
    'ann files/list: ask by ann, 1',
    'ann files/write: deny by interns, 1',
    'ann mail/send: deny by stays, 1',
  ]);
  expect(result).toMatchObject({ unsure: 2, unsureRules: ['stays', 'interns'] });
});

it('is unsure too of a call that depends on a label of a rule about such facts, until a sure rule adds the label', async () => {
  const access = {
    default: 'allow',
    rules: [
      { id: 'interns', who: 'group:interns', label: 'files', as: 'crm' },
      { id: 'all', who: 'everyone', label: 'web', as: 'crm' },
      { id: 'stays', who: 'everyone', deny: 'mail', after: 'crm' },
    ],
  };
  const calls = ['files/read', 'mail/send', 'web/fetch', 'mail/send'].map((what) => called(what));
  const result = await replayed(calls, { access, auth: { keys: { file: 'keys.yaml' } } });
  expect(short(result)).toEqual(['ann mail/send: deny by stays, 2']);
  expect(result).toMatchObject({ denied: 2, unsure: 1, unsureRules: ['interns'] });
});

it('keeps a bounded number of conversations and rows, however many records there are', async () => {
  const replay = await openReplay({ config: configWith(guarded), hints, maxConversations: 100, maxRows: 10 });
  for (let index = 0; index < 20_000; index += 1) {
    const session = { 'mcp.session.id': `session ${index}`, 'user.id': `user ${index}` };
    replay.add(called('mail/read', session));
    replay.add(called('mail/send', session));
  }
  expect(replay.size).toBe(100);
  const { rows, others, asked, forgotten } = replay.result;
  expect([rows.length, others, asked, forgotten]).toEqual([10, 19_990, 20_000, 19_900]);
});

it('reads the files of several writers in the order of their times, and counts lines that are no records', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-replay-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const written = async (name: string, seconds: readonly number[]): Promise<string> => {
    const lines = seconds.map((second) => JSON.stringify({ time: new Date(second * 1_000).toISOString() }));
    await writeFile(join(folder, name), `${lines.join('\n')}\n`);
    return join(folder, name);
  };
  const lanes = [
    [await written('late', [7, 8, 9])],
    [await written('a1', [1, 3]), await written('a2', [5, 10])],
    [await written('b', [2, 4, 6])],
    [await written('none', [])],
  ];
  await writeFile(join(folder, 'b'), '{"time":\n', { flag: 'a' });
  let damaged = 0;
  const times: number[] = [];
  for await (const { time } of recordsInOrder(lanes, () => (damaged += 1)))
    times.push(Date.parse(String(time)) / 1_000);
  expect([times, damaged]).toEqual([[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 1]);
});
