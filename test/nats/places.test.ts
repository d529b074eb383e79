/** Installations on a NATS that is shared with others, or that spans several regions. */
import { expect, it, vi } from 'vitest';
import { busRoles, natsUsers } from '@omnibus/bus';
import { Outsider, startNatsServer } from '@omnibus/bus/testing';
import { setUp } from '../support/gateway.ts';
import { end, type RunningProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';
import { domain, endpointOf, startPart, startWorld } from './world.ts';

const offering = (name: string): Promise<Upstream> =>
  Upstream.start({ tools: [tool('where')], onCall: (call: Call) => call.answer(text(name)) });

/** The region that the tool of a server returns. */
async function whereIs(client: RawClient): Promise<unknown> {
  const { last } = await client.callTool('up__where', {});
  return last?.result?.['content'] === undefined
    ? last?.error
    : (last.result['content'] as readonly [{ readonly text: string }])[0].text;
}

it('two installations on one NATS, each with the users of its own prefix, see nothing of each other', async () => {
  const users = ['team-a', 'team-b'].flatMap((prefix) =>
    natsUsers((user) => user, { prefix, domain }).replaceAll(/user: (\w+)/g, `user: ${prefix}-$1`),
  );
  await using nats = await startNatsServer(
    `jetstream { domain: ${domain} }\nauthorization { users: [\n${users.join('\n')}\n{ user: outsider, password: outsider }\n] }\nno_auth_user: outsider`,
  );
  await using stack = new AsyncDisposableStack();
  const open = async (prefix: string): Promise<RawClient> => {
    await setUp(nats.url, { prefix, domain }, `${prefix}-setup`);
    const upstream = stack.use(await offering(prefix));
    let endpoint = '';
    for (const role of busRoles.toReversed()) {
      const part = stack.use(
        await startPart(
          { prefix: 'always', nats: { prefix, domain }, mcpServers: { [prefix]: { url: upstream.url } } },
          nats.url.replace('://', `://${prefix}-${role}:${role}@`),
          role,
        ),
      );
      if (role === 'edge') endpoint = await endpointOf(part);
    }
    return stack.use(await RawClient.open(endpoint));
  };
  const [a, b] = [await open('team-a'), await open('team-b')];
  await a.untilTools((names) => names.includes('team-a__where'));
  await b.untilTools((names) => names.includes('team-b__where'));
  expect([await a.toolNames(), await b.toolNames()]).toEqual([['team-a__where'], ['team-b__where']]);
  await using outsider = await Outsider.connect(nats.url);
  const buckets = await outsider.buckets();
  expect([...buckets.keys()].filter((name) => !/^team-[ab]-/.test(name))).toEqual([]);
  expect([buckets.get('team-a-sessions')?.size, buckets.get('team-b-sessions')?.size]).toEqual([1, 1]);
  // A session of one installation does not exist in the other.
  const session = b.session;
  b.session = a.session;
  expect((await b.request('tools/list')).status).toBe(404);
  b.session = session;
});

it('over two clusters and a leaf node, a call stays in its region while it can, and a session goes on anywhere', async () => {
  await using world = await startWorld();
  await using stack = new AsyncDisposableStack();
  const [east, west] = [stack.use(await offering('east')), stack.use(await offering('west'))];
  const config = (region: string, url: string, more: object = {}): object => ({
    prefix: 'always',
    nats: { region, ...more },
    mcpServers: { up: { url } },
  });
  const eastPart = stack.use(await startPart(config('east', east.url), world.east, 'all'));
  const westPart = stack.use(await startPart(config('west', west.url), world.west, 'all'));
  const leafEdge = stack.use(await startPart(config('east', east.url, { domain }), world.leaf, 'edge'));
  // The processes of each region have to know the servers of both before they choose.
  await vi.waitFor(
    async () => {
      for (const part of [eastPart, westPart]) {
        const [, admin] = (await part.line(/"admin":"([^"]+)"/)) as unknown as [string, string];
        const status = (await (await fetch(`http://${admin}/status`)).json()) as {
          readonly adapters: Readonly<Record<string, number>>;
        };
        if (status.adapters['up'] !== 1) throw new Error(JSON.stringify(status.adapters));
      }
    },
    { timeout: 45_000 },
  );
  // An edge that did not know its own region at the start would open sessions in another region, and these stay there.
  const openIn = async (region: string, part: RunningProcess): Promise<RawClient> => {
    const endpoint = await endpointOf(part);
    return vi.waitFor(
      async () => {
        const client = stack.use(await RawClient.open(endpoint));
        await client.untilTools((names) => names.includes('up__where'));
        expect(await whereIs(client)).toBe(region);
        return client;
      },
      { timeout: 45_000, interval: 200 },
    );
  };
  const atEast = await openIn('east', eastPart);
  const atWest = await openIn('west', westPart);
  const atLeaf = await openIn('east', leafEdge);
  for (let count = 0; count < 10; count += 1)
    expect([await whereIs(atEast), await whereIs(atWest), await whereIs(atLeaf)]).toEqual(['east', 'west', 'east']);

  // A session that was opened in one cluster is served by the edges of the other, and of the leaf node.
  const elsewhere = new RawClient(await endpointOf(westPart));
  elsewhere.session = atEast.session;
  expect(await whereIs(elsewhere)).toBe('east');

  // Without its server, calls of the region go to the other one; without its worker, its sessions are taken over there.
  await east[Symbol.asyncDispose]();
  await vi.waitFor(async () => expect(await whereIs(atEast)).toBe('west'), { timeout: 45_000, interval: 200 });
  await end(eastPart, 'SIGKILL');
  await vi.waitFor(async () => expect([await whereIs(elsewhere), await whereIs(atLeaf)]).toEqual(['west', 'west']), {
    timeout: 45_000,
    interval: 200,
  });
});
