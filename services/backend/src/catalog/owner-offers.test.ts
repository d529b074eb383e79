/** Lists of users at a server that is called in their names, where a reading of them fails. */
import { beforeEach, expect, it } from 'vitest';
import {
  defaultLimits,
  type ExchangeOutcome,
  type JsonObject,
  type OfferCaller,
  type Principal,
  type ServerIntroduction,
  type ServerName,
  type SessionKey,
  type ToolEntry,
} from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { ConnectionPool } from '../connection/pool.ts';
import { OutputSchemas } from './output-schemas.ts';
import { OwnerOffers, type OwnerOffersOptions } from './owner-offers.ts';

const caller: OfferCaller = {
  principal: 'p_ann' as Principal,
  session: 's_ann' as SessionKey,
  standsAlone: false,
  capabilities: {},
};
const lost: ExchangeOutcome = { kind: 'fault', fault: { reason: 'upstream.unavailable', message: 'gone' } as never };
const listed: Record<string, JsonObject> = {
  'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
  'prompts/list': { prompts: [{ name: 'ask' }] },
};

let timers: { readonly run: () => void; isCancelled: boolean }[];
let failing: Set<string>;
/** Further tools of the server. */
let odd: readonly JsonObject[];
let asked: string[];
let refused: string | undefined;
let offers: OwnerOffers;
/** Makes the connection for a reading; undefined: the one that is open. */
let connect: (() => UpstreamConnection) | undefined;
/** The connections that the pool has. */
let all: UpstreamConnection[];

/** Runs scheduled work. */
function later(): number {
  const due = timers.splice(0).filter(({ isCancelled }) => !isCancelled);
  for (const { run } of due) run();
  return due.length;
}

const read = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

function offered(): Readonly<Record<string, readonly string[]>> {
  const [offer] = offers.of({ tools: [], prompts: [], resources: [], resourceTemplates: [] }, false).offers ?? [];
  return Object.fromEntries(
    Object.entries(offer?.lists ?? {}).map(([kind, list]) => [
      kind,
      JSON.stringify(list).match(/"name":"(\w+)"/g) ?? [],
    ]),
  );
}

beforeEach(() => {
  [timers, failing, asked, refused, connect, odd] = [[], new Set(), [], undefined, undefined, []];
  const connection = {
    isReady: true,
    ask: (method: string): Promise<ExchangeOutcome> => {
      asked.push(method);
      const result = listed[method] ?? {};
      const tools = [...((result['tools'] as readonly JsonObject[] | undefined) ?? []), ...odd];
      return Promise.resolve(
        failing.has(method) ? lost : { kind: 'result', result: method === 'tools/list' ? { tools } : result },
      );
    },
  } as unknown as UpstreamConnection;
  all = [connection];
  const pool = {
    settling: () => undefined,
    takeToRead: () =>
      refused === undefined ? { connection: connect?.() ?? connection, done: () => undefined } : { refused },
    all: () => all,
  } as unknown as ConnectionPool;
  offers = new OwnerOffers({
    server: 'up' as ServerName,
    log: createLogger({ level: 'silent', format: 'json' }),
    limits: defaultLimits,
    repairs: undefined,
    outputSchemas: new OutputSchemas(),
    rereadMs: 0,
    connections: () => pool,
    wantsSignIn: () => false,
    standIn: { name: 'connect' } as unknown as ToolEntry,
    changed: () => undefined,
    met: () => undefined,
    wheel: {
      schedule: (_ms: number, run: () => void) => {
        const timer = { run, isCancelled: false };
        timers.push(timer);
        return { cancel: () => void (timer.isCancelled = true) };
      },
    } as unknown as OwnerOffersOptions['wheel'],
  });
  offers.opened(connection, { capabilities: { tools: {}, prompts: {} } } as unknown as ServerIntroduction);
});

it('a user whose lists cannot be read when he comes is read again without coming again', async () => {
  failing = new Set(['tools/list', 'prompts/list']);
  offers.want(caller);
  await read();
  expect(offered()).toEqual({});
  failing.clear();
  later();
  await read();
  expect(offered()).toMatchObject({ tools: ['"name":"act"'], prompts: ['"name":"ask"'] });
});

it('a user for whom there is no connection is read when there is one', async () => {
  refused = 'maxConnections';
  offers.want(caller);
  await read();
  refused = undefined;
  later();
  await read();
  expect(offered()).toMatchObject({ tools: ['"name":"act"'] });
});

it.each([
  ['read', (): void => undefined],
  ['to be read again', (): unknown => failing.add('prompts/list')],
])('what is %s of a user at the removal is not kept, and the next user of the name is read', async (_what, begin) => {
  const ann = { ...caller, who: { issuer: 'https://login.example', subject: 'ann', tenant: undefined, groups: [] } };
  begin();
  offers.want(ann);
  if (failing.size > 0) await read();
  offers.forget(({ subject }) => subject === 'ann');
  failing.clear();
  later();
  await read();
  expect(offered()).toEqual({});
  offers.want(ann);
  await read();
  expect(offered()).toMatchObject({ tools: ['"name":"act"'] });
});

it('a list that cannot be read any more stays as it was, and is read again', async () => {
  offers.want(caller);
  await read();
  later();
  failing = new Set(['prompts/list']);
  offers.changed(caller.principal);
  await read();
  expect(offered()).toMatchObject({ tools: ['"name":"act"'], prompts: ['"name":"ask"'] });
  failing.clear();
  asked = [];
  later();
  await read();
  expect(asked).toContain('prompts/list');
});

it('lists that can never be read are given up, until the user comes again', async () => {
  failing = new Set(['tools/list', 'prompts/list']);
  offers.want(caller);
  let rounds = 0;
  for (; ; rounds += 1) {
    await read();
    if (later() === 0) break;
  }
  expect(rounds).toBe(8);
  failing.clear();
  offers.want(caller);
  await read();
  expect(offered()).toMatchObject({ tools: ['"name":"act"'] });
});

it('a connection that is opened to read lists over makes nobody read them again, and one that opens again does', async () => {
  const introduction = { capabilities: { tools: {} } } as unknown as ServerIntroduction;
  connect = () => {
    const made = {
      isReady: true,
      ask: (method: string): Promise<ExchangeOutcome> => {
        asked.push(method);
        if (asked.length < 20) offers.opened(made, introduction);
        return Promise.resolve({ kind: 'result', result: listed[method] ?? {} });
      },
    } as unknown as UpstreamConnection;
    offers.join(made, caller);
    return made;
  };
  offers.want(caller);
  await read();
  offers.changed(caller.principal);
  for (let round = 0; round < 5; round += 1) await read();
  expect(asked).toEqual(['tools/list', 'tools/list']);
  asked = [];
  connect = undefined;
  const other = { isReady: true } as unknown as UpstreamConnection;
  offers.join(other, caller);
  offers.opened(other, introduction);
  await read();
  expect(asked).toEqual(['tools/list', 'prompts/list']);
});

it('lists are not read again because their user gets a further connection, and are when the first one opens again', async () => {
  const introduction = { capabilities: { tools: {} } } as unknown as ServerIntroduction;
  const [first, further] = [{ isReady: true }, { isReady: true }] as unknown as [
    UpstreamConnection,
    UpstreamConnection,
  ];
  offers.want(caller);
  await read();
  all.push(first);
  offers.join(first, caller);
  offers.opened(first, introduction);
  await read();
  asked = [];
  all.push(further);
  offers.join(further, caller);
  offers.opened(further, introduction);
  await read();
  expect(asked).toEqual([]);
  offers.opened(first, introduction);
  await read();
  expect(asked).toEqual(['tools/list', 'prompts/list']);
});

it('nothing is read again after the end', async () => {
  failing = new Set(['tools/list', 'prompts/list']);
  offers.want(caller);
  await read();
  offers.stop();
  expect(later()).toBe(0);
});

it('what clients would refuse of the list of a user is named with the reason, for this user', async () => {
  odd = [{ name: 'odd', description: 5, inputSchema: { type: 'object' } }];
  offers.want(caller);
  await read();
  const [offer] = offers.of({ tools: [], prompts: [], resources: [], resourceTemplates: [] }, true).offers ?? [];
  expect(offer?.unfit).toEqual([{ kind: 'tools', name: 'odd', problem: '"description" must be a string' }]);
});
