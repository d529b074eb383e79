/** Connections of removed users that the edge has backend workers end. */
import { MemoryBus, subjects } from '@omnibus/bus';
import { principalOf } from '@omnibus/identity';
import type { ConnectCommand, ConnectionRow } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { expect, it } from 'vitest';
import { GoneUsers } from './gone-users.ts';

const issuer = 'https://gateway.example';
const day = 24 * 60 * 60_000;
const now = Date.now();

/** Connections in one answer of a backend worker. */
const listed = 2;

const connectionOf = (owner: string, at: number): ConnectionRow =>
  ({
    server: 'github',
    host: 'github.example',
    principal: `p_${at}`,
    issuer: 'https://issuer.example',
    since: now,
    state: 'connected',
    owner,
  }) as ConnectionRow;

/** @returns requests to backend workers to end connections. */
async function ended(
  owners: readonly string[],
  users: Readonly<Record<string, { readonly created?: string; readonly id?: string }>>,
  isWhole: boolean,
  pages = true,
): Promise<readonly ConnectCommand[]> {
  const bus = new MemoryBus(() => undefined);
  const heard: ConnectCommand[] = [];
  const all = owners.map(connectionOf);
  await bus.subscribe(subjects.connect, (command, reply) => {
    if (command.kind === 'list') {
      const after = pages ? (command.after ?? '') : '';
      const rest = all.filter(({ server, principal }) => `${server} ${principal}` > after);
      reply({ kind: 'connections', connections: rest.slice(0, listed), total: all.length });
    } else {
      heard.push(command);
      reply({ kind: 'forgotten', count: 1, notRevoked: 0 });
    }
  });
  const gone = new GoneUsers({
    bus,
    log: createLogger({ level: 'silent', format: 'json' }),
    issuer,
    find: (subject) => users[subject],
    isWhole,
    isUsed: () => true,
  });
  await gone.look();
  await bus.drain();
  return heard;
}

it('a user who is not in the file any more is forgotten where that file is the only one, and users of other issuers are left alone', async () => {
  const heard = await ended([`ann (${issuer})`, `ben (${issuer})`, 'eve (omnibus:keys)'], { ben: {} }, true);
  expect(heard).toEqual([expect.objectContaining({ kind: 'forget', subject: 'ann', issuer })]);
});

it('a user who is not in the file of one of several processes is not forgotten: the others may have a newer one', async () => {
  expect(await ended([`ann (${issuer})`], {}, false)).toEqual([]);
});

it('who is given the name of a user before him gets nothing of what that one has connected', async () => {
  const heard = await ended([`ann (${issuer})`], { ann: { created: new Date(now - day).toISOString() } }, false);
  expect(heard).toEqual([{ kind: 'forget', subject: 'ann', issuer, before: now - day - 5 * 60_000 }]);
  const known = await ended(
    [`ann (${issuer})`],
    { ann: { created: new Date(now - 1_000).toISOString(), id: 'second' } },
    false,
  );
  const except = principalOf({ issuer, subject: 'ann' }, undefined, [], 'second');
  expect(known).toEqual([{ kind: 'forget', subject: 'ann', issuer, before: now - 1_000, except }]);
});

it('users are found in all connections, however many; a backend worker of 0.3.0 lists the first ones only', async () => {
  const owners = ['ann', 'ben', 'cat', 'dan', 'eve'].map((name) => `${name} (${issuer})`);
  const subjectsIn = (heard: readonly ConnectCommand[]): unknown[] =>
    heard.map((command) => ('subject' in command ? command.subject : undefined));
  expect(subjectsIn(await ended(owners, { ben: {} }, true))).toEqual(['ann', 'cat', 'dan', 'eve']);
  expect(subjectsIn(await ended(owners, { ben: {} }, true, false))).toEqual(['ann']);
});
