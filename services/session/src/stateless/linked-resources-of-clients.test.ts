import { expect, it } from 'vitest';
import { anonymous, parseServerName, rootEndpoint, type Caller } from '@omnibus/protocol';
import { LinkedResourcesOfClients } from './linked-resources-of-clients.ts';

const server = parseServerName('up');
const client = (origin: number): Caller => ({ principal: anonymous, endpoint: rootEndpoint, origin: String(origin) });
const links = (from: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `up://${from}/${index}/${'x'.repeat(2_000)}`);

it("what results linked to is each client's own", () => {
  const all = new LinkedResourcesOfClients();
  all.of(client(1)).remember(server, ['up://1']);
  expect([all.of(client(1)).find('up://1'), all.of(client(2)).find('up://1')]).toEqual([[server], []]);
});

it('all clients together have so much room, and those that asked nothing for longest go first', () => {
  const all = new LinkedResourcesOfClients();
  const first = all.of(client(0));
  for (let each = 0; each < 20; each += 1) all.of(client(each)).remember(server, links(each, 500));
  expect(all.length).toBeLessThanOrEqual(16 * 1024 * 1024);
  expect(all.of(client(19)).find(`up://19/7/${'x'.repeat(2_000)}`)).toEqual([server]);
  expect(all.of(client(0)).find(`up://0/7/${'x'.repeat(2_000)}`)).toEqual([]);
  // A call of a client that was forgotten meanwhile still runs.
  const before = all.length;
  first.remember(server, links(99, 10));
  expect(all.length).toBe(before);
});

it('one client has so many, and what it forgets is not counted', () => {
  const all = new LinkedResourcesOfClients();
  for (let round = 0; round < 5; round += 1) all.of(client(1)).remember(server, links(round, 500));
  expect(all.length).toBeLessThan(1_000 * 2_048);
});
