/** Lists that a provider reads. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Blocks, Directory, MemoryBus } from '@omnibus/bus';
import { directoryKeyOf } from '@omnibus/identity';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { maxMembers } from './attributes.ts';
import { ScimSite } from './site.ts';

const token = 'a'.repeat(40);
const settings = { issuer: 'https://login.example.com', subject: 'externalId' as const };
const key = directoryKeyOf(settings);
const ids = ['one', 'two', 'three'];
const stack = new AsyncDisposableStack();
let url: string;

beforeAll(async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const [directory, blocks] = [await Directory.open(bus), await Blocks.open(bus)];
  const made = { directory: key, created: 0, changed: 0 };
  for (const id of ids) await directory.create({ ...made, kind: 'group', id, displayName: id });
  for (let at = 0; at < maxMembers; at += 1)
    await directory.create({ ...made, kind: 'user', id: `u${at}`, userName: `u${at}`, active: true, groups: ids });
  const site = new ScimSite({
    directories: [{ ...settings, token: [token] }],
    publicUrl: 'https://mcp.example.com',
    directory,
    blocks,
    takeBack: () => Promise.resolve(),
    metrics: new Metrics({ processMetrics: false }),
    log: createLogger({ level: 'silent', format: 'json' }),
  });
  const server = createServer((request, response) => site.handle(request, response, 'here')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
    directory.close();
    blocks.close();
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/scim/v2`;
});
afterAll(() => stack.disposeAsync());

async function groups(query: string) {
  const response = await fetch(`${url}/Groups?${query}`, { headers: { authorization: `Bearer ${token}` } });
  const { Resources: all, ...page } = (await response.json()) as {
    readonly Resources: readonly { readonly id: string; readonly members?: readonly object[] }[];
  };
  return { ...page, shown: all.map(({ id, members }) => [id, members?.length]) };
}

it('a page of groups ends before it has too many members, and the next one begins there', async () => {
  const [one, three, two] = ids.toSorted();
  expect(await groups('')).toMatchObject({
    totalResults: 3,
    itemsPerPage: 2,
    shown: [
      [one, maxMembers],
      [three, maxMembers],
    ],
  });
  expect(await groups('startIndex=3')).toMatchObject({ itemsPerPage: 1, shown: [[two, maxMembers]] });
  expect(await groups('excludedAttributes=members')).toMatchObject({
    itemsPerPage: 3,
    shown: [one, three, two].map((id) => [id, undefined]),
  });
});
