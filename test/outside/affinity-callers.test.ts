/**
 * Clients of 2026-07-28, whose requests have no sessions, at a program that keeps state for its user. There are two processes of each role, and each
 * backend worker has programs of its own: all requests of one client reach the same state, and two clients never share it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Caller } from '../isolation/caller.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath } from '../support/processes.ts';

interface ProcessStatus {
  readonly role: string;
  readonly adapters?: Readonly<Record<string, number>>;
}

const everyServerTwice = { pages: 2, told: 2, rooted: 2, newer: 2 };
const many = Array.from({ length: 8 }, (_, index) => index);

describe('clients without a session at programs of two backend workers', () => {
  const callers: Caller[] = [];
  let folder: string;
  let gateway: GatewayHere;
  let urls: readonly string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-affinity-'));
    const keeper = (name: string, revision = '2025-11-25'): object => ({
      command: 'node',
      args: [fixturePath('keeper-stdio'), revision, name, join(folder, 'notes')],
    });
    gateway = await startGatewayHere('nats', {
      mcpServers: {
        pages: keeper('pages'),
        told: keeper('told'),
        rooted: keeper('rooted'),
        newer: keeper('newer', '2026-07-28'),
      },
    });
    const [, , edge] = await Promise.all([
      gateway.startPart('backend'),
      gateway.startPart('session'),
      gateway.startEdge(),
    ]);
    urls = [gateway.url, edge];
    // The place of a caller's calls depends on the workers that are alive, so each session worker must know both.
    for (const process of gateway.processes) {
      const admin = await gateway.admin(process);
      await vi.waitFor(
        async () => {
          const { role, adapters } = (await (await fetch(`http://${admin}/status`)).json()) as ProcessStatus;
          if (role === 'session') expect(adapters).toEqual(everyServerTwice);
        },
        { timeout: 120_000 },
      );
    }
  });

  afterAll(async () => {
    await Promise.all(callers.map((caller) => caller.close()));
    await gateway[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function open(wire: 'http' | 'ws', url = gateway.url): Promise<Caller> {
    const caller = await Caller.open({ wire, revision: '2026-07-28', isAskable: true }, url);
    callers.push(caller);
    return caller;
  }

  async function call(caller: Caller, server: string, tool: string, more: object = {}): Promise<string> {
    const reply = await caller.request('tools/call', {
      name: `${server}__${tool}`,
      arguments: { marker: caller.newMarker(), ...more },
    });
    return Caller.textOf(reply) === '' ? JSON.stringify(reply) : Caller.textOf(reply);
  }

  /** The count of the called program. */
  async function count(caller: Caller, server: string): Promise<number> {
    return Number(/mk-[0-9a-f-]+ (\d+)/.exec(await call(caller, server, 'count'))?.[1]);
  }

  it('the calls of the only local user go to one program, through any edge and worker', async () => {
    const counts: number[] = [];
    const clients = await Promise.all(urls.map((url) => open('http', url)));
    for (const index of many) counts.push(await count(clients[index % clients.length] as Caller, 'pages'));
    expect(counts).toEqual(many.map((index) => index + 1));
    const newer: number[] = [];
    for (const index of many) newer.push(await count(clients[index % clients.length] as Caller, 'newer'));
    expect(newer).toEqual(many.map((index) => index + 1));
  });

  it('updates come from the program that the user calls', async () => {
    const caller = await open('http');
    const uri = 'keeper-told://note/mine';
    const isNotice = ({ method, params }: { readonly method?: string; readonly params?: object }): boolean =>
      method === 'notifications/resources/updated' && JSON.stringify(params).includes(uri);
    void caller.once('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } }, caller.newId());
    await caller.pushed.untilSome(({ method }) => method === 'notifications/subscriptions/acknowledged');
    for (const told of [1, 2]) {
      await call(caller, 'told', 'touch', { marker: 'mine' });
      await expect.poll(() => caller.pushed.values.filter(isNotice).length).toBe(told);
    }
  });

  it('a program that has read the roots of one client goes on serving that client, and no other', async () => {
    const [mine, others] = [await open('http', urls[0]), await open('http', urls[1])];
    expect(await call(mine, 'rooted', 'ask', { what: 'roots', via: 'own' })).toContain(mine.secret);
    expect([await count(mine, 'rooted'), await count(mine, 'rooted')]).toEqual([1, 2]);
    expect(await call(others, 'rooted', 'ask', { what: 'roots', via: 'own' })).toContain(others.secret);
    expect([await count(others, 'rooted'), await count(mine, 'rooted'), await count(others, 'rooted')]).toEqual([
      1, 3, 2,
    ]);
    expect([mine.foreign(), others.foreign()]).toEqual([[], []]);
  });

  it('clients with sessions whose roots are read do not take the program of the others', async () => {
    for (const url of urls) {
      const session = await Caller.open({ wire: 'http', revision: '2025-11-25', isAskable: true }, url);
      callers.push(session);
      expect(await call(session, 'rooted', 'ask', { what: 'roots', via: 'own' })).toContain(session.secret);
    }
    const mine = await open('http');
    expect(await call(mine, 'rooted', 'ask', { what: 'roots', via: 'own' })).toContain(mine.secret);
    expect([await count(mine, 'rooted'), await count(mine, 'rooted'), await count(mine, 'rooted')]).toEqual([1, 2, 3]);
  });

  it('a client that is one connection has a program of its own, which may ask it again and again', async () => {
    const [one, another] = [await open('ws'), await open('ws')];
    for (const caller of [one, another]) {
      for (const turn of [1, 2, 3]) {
        expect(await call(caller, 'rooted', 'ask', { what: 'roots', via: 'own' })).toContain(caller.secret);
        expect(await call(caller, 'rooted', 'ask', { what: 'form', via: 'own' })).toContain('accept');
        expect(await count(caller, 'rooted')).toBe(turn);
      }
    }
    expect([one.foreign(), another.foreign()]).toEqual([[], []]);
  });

  it('calls that ask at the same time are each answered by the client that made them', async () => {
    const clients = await Promise.all(many.map((index) => open('ws', urls[index % 2])));
    const answered = await Promise.all(
      clients.flatMap((caller) =>
        ['form', 'sampling', 'roots'].map(async (what) => {
          const said = await call(caller, 'pages', 'ask', { what, via: 'own' });
          return said.includes(caller.secret) && !said.includes('refused') ? 'its own' : said;
        }),
      ),
    );
    expect(new Set(answered)).toEqual(new Set(['its own']));
    expect(clients.flatMap((caller) => caller.foreign())).toEqual([]);
  });
});
