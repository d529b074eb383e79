/** Lists that a provider reads, and the records of what it changes. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AuditEvent } from '@omnibus/audit';
import { Blocks, Directory, MemoryBus } from '@omnibus/bus';
import { directoryKeyOf } from '@omnibus/identity';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { maxMembers } from './attributes.ts';
import { ScimSite } from './site.ts';

const token = 'a'.repeat(40);
const settings = { issuer: 'https://login.example.com', subject: 'externalId' as const };
const key = directoryKeyOf(settings);
const ids = ['one', 'two', 'three'];
const stack = new AsyncDisposableStack();
const recorded: AuditEvent[] = [];
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
    forget: () => Promise.resolve(),
    audit: { record: (event) => void recorded.push(event) },
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
afterEach(() => {
  recorded.length = 0;
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

async function send(method: string, path: string, body?: object, secret = token): Promise<{ readonly id: string }> {
  const response = await fetch(`${url}/${path}`, {
    method,
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/scim+json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return JSON.parse((await response.text()) || '{}') as { readonly id: string };
}
const patch = (path: string, value: unknown) => ({ Operations: [{ op: 'replace', path, value }] });
/** Records as `[name, outcome, more without undefined members]`. */
const records = (): unknown[] =>
  recorded.map(({ name, outcome, more }) => [name, outcome, JSON.parse(JSON.stringify(more ?? {})) as object]);

it('each change of a user is on record with the user, the attributes and the address, and a repeated one is not', async () => {
  const { id } = await send('POST', 'Users', { userName: 'ann', externalId: 'o-1' });
  await send('PATCH', `Users/${id}`, patch('displayName', 'Ann'));
  await send('PATCH', `Users/${id}`, patch('displayName', 'Ann'));
  await send('PATCH', `Users/${id}`, patch('active', 'False'));
  await send('PATCH', `Users/${id}`, patch('active', 'True'));
  await send('PATCH', `Users/${id}`, patch('externalId', 'o-2'));
  await send('DELETE', `Users/${id}`);
  const user = 'https://login.example.com|o-1';
  const of = { user, user_name: 'ann', id };
  expect(records()).toEqual([
    ['scim.user.created', 'ok', { ...of, active: true }],
    ['scim.user.changed', 'ok', { ...of, active: true, changed: ['displayName'] }],
    ['scim.user.deactivated', 'ok', { ...of, active: false, changed: ['active'] }],
    ['scim.user.activated', 'ok', { ...of, active: true, changed: ['active'] }],
    [
      'scim.user.changed',
      'ok',
      { ...of, user: 'https://login.example.com|o-2', was: user, active: true, changed: ['externalId'] },
    ],
    ['scim.user.deleted', 'ok', { ...of, user: 'https://login.example.com|o-2' }],
  ]);
  expect(recorded.every(({ who }) => who?.issuer === settings.issuer && who.address === 'here')).toBe(true);
});

it('members of a group are on record by name, at most a hundred in one record, and so are refusals and wrong secrets', async () => {
  const members = Array.from({ length: 150 }, (_, at) => ({ value: `u${at}` }));
  const { id } = await send('POST', 'Groups', { displayName: 'eng', members });
  await send('PATCH', `Groups/${id}`, { Operations: [{ op: 'remove', path: 'members[value eq "u7"]' }] });
  await send('PATCH', `Groups/${id}`, patch('displayName', 'one'));
  await send('PATCH', `Groups/${id}`, patch('displayName', 'engineers'));
  await send('GET', 'Users/none');
  await send('GET', 'Users', undefined, 'b'.repeat(40));
  const names = members.map(({ value }) => `https://login.example.com|${value}`);
  expect(records()).toEqual([
    ['scim.group.created', 'ok', { group: 'eng', id }],
    ['scim.group.members', 'ok', { group: 'eng', id, added: names.slice(0, 100) }],
    ['scim.group.members', 'ok', { group: 'eng', id, added: names.slice(100) }],
    ['scim.group.members', 'ok', { group: 'eng', id, removed: ['https://login.example.com|u7'] }],
    ['scim.refused', 'denied', { request: `PATCH /Groups/${id}`, problem: 'there is a group "one" already' }],
    ['scim.group.changed', 'ok', { group: 'engineers', was: 'eng', id }],
    ['auth.refused', 'denied', { way: 'scim' }],
  ]);
});
