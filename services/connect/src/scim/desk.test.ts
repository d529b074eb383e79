/** Acts of providers that meet each other, or a store that does not answer. */
import type { AuditEvent } from '@omnibus/audit';
import { Blocks, BusError, Directory, MemoryBus, type KeyValue } from '@omnibus/bus';
import type { DirectoryUser, Facts, JsonObject } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Desk } from './desk.ts';
import type { Of } from './of.ts';
import { ScimRecords } from './records.ts';

const issuer = 'https://login.example.com';
const of: Of = { issuer, subject: 'externalId', key: '0123456789abcdef', address: '192.0.2.1' };
const ann = { userName: 'ann', externalId: 'o-1' };

let directory: Directory;
let blocks: Blocks;
let desk: Desk;
/** Runs, once, after the record of a user that is gone was stored, or before it is removed. */
let meanwhile: (() => Promise<void>) | undefined;
const recorded: AuditEvent[] = [];
/** Subjects whose sign-ins at servers were ended, and what that does. */
const forgotten: string[] = [];
let forgetting: () => Promise<void> = () => Promise.resolve();

function act(): Promise<void> | undefined {
  const next = meanwhile;
  meanwhile = undefined;
  return next?.();
}

/** A bus whose watchers hear of changes when they are released, as those of a busy edge. */
class LateBus extends MemoryBus {
  #held: (() => void)[] | undefined;
  #watchers = 0;
  #first = 0;

  /** @param first watcher that is late, in the order of their opening; those before it hear at once. */
  hold(first = 0): void {
    this.#held = [];
    this.#first = first;
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const deliver of held) deliver();
  }

  override async keyValue<Value>(...given: Parameters<MemoryBus['keyValue']>): Promise<KeyValue<Value>> {
    const store = (await super.keyValue(...given)) as KeyValue<Value>;
    const watch: KeyValue<Value>['watch'] = (observer) => {
      const own = this.#watchers++;
      return store.watch((change) => {
        if (this.#held === undefined || own < this.#first) observer(change);
        else this.#held.push(() => observer(change));
      });
    };
    return new Proxy(store, {
      get: (of, name) => {
        const member: unknown = name === 'watch' ? watch : Reflect.get(of, name);
        return typeof member === 'function' ? (member.bind(of) as unknown) : member;
      },
    });
  }
}

/** A desk of an edge. */
const deskOf = (known: Directory): Desk =>
  new Desk({
    directory: known,
    blocks: {
      async addGone(user) {
        await blocks.addGone(user);
        await act();
      },
      goneRevision: (user) => blocks.goneRevision(user),
      async removeGone(...given) {
        await act();
        await blocks.removeGone(...given);
      },
    },
    log: createLogger({ level: 'silent', format: 'json' }),
    records: new ScimRecords({ record: (event) => void recorded.push(event) }),
    takeBack: () => Promise.resolve(),
    async forget({ subject }) {
      await forgetting();
      forgotten.push(subject);
    },
  });

beforeEach(async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  [directory, blocks] = [await Directory.open(bus), await Blocks.open(bus)];
  desk = deskOf(directory);
});
afterEach(() => {
  vi.useRealTimers();
  meanwhile = undefined;
  forgotten.length = 0;
  forgetting = () => Promise.resolve();
  directory.close();
  blocks.close();
});

const isRefused = (subject = 'o-1'): boolean =>
  blocks.callerProblem({ issuer, subject, actors: [] } as Partial<Facts> as Facts) !== undefined;
const replace = (path: string, value: unknown, op = 'replace') => ({ patch: { Operations: [{ op, path, value }] } });
const set = async (id: string, active: boolean): Promise<unknown> =>
  desk.changeUser(of, id, replace('active', active), undefined);
const created = async (body: JsonObject): Promise<string> => (await desk.createUser(of, body)).entry.id;

it('two requests at once that add members to a group both count', async () => {
  const ids = await Promise.all(['ann', 'ben'].map((name) => created({ userName: name, externalId: name })));
  const { entry } = await desk.createGroup(of, { displayName: 'eng' });
  await Promise.all(
    ids.map((value) => desk.changeGroup(of, entry.id, replace('members', [{ value }], 'add'), undefined)),
  );
  expect(directory.members(of.key, entry.id).toSorted()).toEqual(ids.toSorted());
});

it('a member that one edge has added is removed at another one that has not heard of it yet', async () => {
  const bus = new LateBus(({ what }) => expect.fail(what));
  const [here, there] = [await Directory.open(bus), await Directory.open(bus)];
  const [one, other] = [deskOf(here), deskOf(there)];
  const { id: value } = (await one.createUser(of, ann)).entry;
  const { id } = (await one.createGroup(of, { displayName: 'eng' })).entry;
  await expect.poll(() => there.groupName(of.key, id)).toBe('eng');
  bus.hold();
  await one.changeGroup(of, id, replace('members', [{ value }], 'add'), undefined);
  expect([here.members(of.key, id), there.members(of.key, id)]).toEqual([[value], []]);
  const removal = other.changeGroup(of, id, replace('members', [{ value }], 'remove'), undefined);
  setImmediate(() => bus.release());
  await removal;
  expect(there.members(of.key, id)).toEqual([]);
  await expect.poll(() => here.members(of.key, id)).toEqual([]);
  here.close();
  there.close();
});

it('a member that one edge adds during a change at another one is removed there afterwards', async () => {
  const bus = new LateBus(({ what }) => expect.fail(what));
  const [here, there] = [await Directory.open(bus), await Directory.open(bus)];
  const [one, other] = [deskOf(here), deskOf(there)];
  const first = (await one.createUser(of, ann)).entry.id;
  const second = (await one.createUser(of, { userName: 'ben', externalId: 'o-2' })).entry.id;
  const { id } = (await one.createGroup(of, { displayName: 'eng' })).entry;
  await expect.poll(() => there.groupName(of.key, id)).toBe('eng');
  const change = (desk: Desk, value: string, op: string) =>
    desk.changeGroup(of, id, replace('members', [{ value }], op), undefined);
  bus.hold(1);
  meanwhile = () => change(one, first, 'add').then(() => undefined);
  const [update, known] = [there.update.bind(there), there.known.bind(there)];
  there.update = async (entry, revision) => {
    if (entry.id === second) await act();
    return update(entry, revision);
  };
  // The late edge hears of the other one's changes once it waits for them.
  there.known = async (...given) => {
    let isOver = false;
    setImmediate(() => isOver || bus.release());
    await known(...given);
    isOver = true;
  };
  await change(other, second, 'add');
  await change(other, first, 'remove');
  const groupsOf = async (user: string) => ((await here.get(of.key, user))?.entry as DirectoryUser).groups;
  expect([await groupsOf(first), await groupsOf(second)]).toEqual([[], [id]]);
  here.close();
  there.close();
});

it('twenty changes of one group at the same time all count', async () => {
  const names = Array.from({ length: 20 }, (_, each) => `user${each}`);
  const ids = await Promise.all(names.map((name) => created({ userName: name, externalId: name })));
  const { entry } = await desk.createGroup(of, { displayName: 'eng' });
  const add = (value: string) => desk.changeGroup(of, entry.id, replace('members', [{ value }], 'add'), undefined);
  await Promise.all(ids.map((value) => add(value)));
  expect(directory.members(of.key, entry.id)).toHaveLength(20);
});

it('an activated user is admitted when the provider repeats a request that has failed', async () => {
  const id = await created({ ...ann, active: false });
  await expect.poll(() => isRefused()).toBe(true);
  meanwhile = () => Promise.reject(new BusError('timeout', 'no answer'));
  await expect(set(id, true)).rejects.toThrow('no answer');
  await set(id, true);
  await expect.poll(() => isRefused()).toBe(false);
});

it('a change is on record, also if the user is admitted only when the provider repeats its request', async () => {
  const id = await created({ ...ann, active: false });
  recorded.length = 0;
  meanwhile = () => Promise.reject(new BusError('timeout', 'no answer'));
  const change = () => desk.changeUser(of, id, { replace: { ...ann, displayName: 'Ann', active: true } }, undefined);
  await expect(change()).rejects.toThrow('no answer');
  expect(recorded).toMatchObject([
    { name: 'scim.user.activated', more: { active: true, changed: ['active', 'displayName'] } },
  ]);
  await change();
  expect(recorded.slice(1)).toMatchObject([{ name: 'scim.user.activated', more: { changed: [] } }]);
});

it('a user that another request deactivates, while this one admits it, stays refused', async () => {
  const id = await created({ ...ann, active: false });
  meanwhile = async () => {
    await set(id, false);
  };
  await set(id, true);
  expect(directory.find(of.key, 'userName', 'ann')?.active).toBe(false);
  await created({ userName: 'ben', externalId: 'o-2', active: false });
  await expect.poll(() => isRefused('o-2')).toBe(true);
  expect(isRefused()).toBe(true);
});

it('a user is deleted, also if another request changes it meanwhile', async () => {
  const id = await created(ann);
  meanwhile = async () => {
    await desk.changeUser(of, id, replace('displayName', 'Ann'), undefined);
  };
  await desk.deleteUser(of, id, undefined);
  expect(directory.find(of.key, 'userName', 'ann')).toBeUndefined();
  await expect.poll(() => isRefused()).toBe(true);
});

it('sign-ins at servers end when their user is deleted or renamed, not while it is deactivated, and the deletion fails until then', async () => {
  const byName: Of = { ...of, subject: 'userName' };
  const { id } = (await desk.createUser(byName, ann)).entry;
  for (const active of [false, true]) await desk.changeUser(byName, id, replace('active', active), undefined);
  await desk.changeUser(byName, id, replace('userName', 'ANN'), undefined);
  expect(forgotten).toEqual([]);
  await desk.changeUser(byName, id, replace('userName', 'anna'), undefined);
  expect(forgotten).toEqual(['ANN']);
  forgetting = () => Promise.reject(new Error('no backend worker answers'));
  await expect(desk.deleteUser(byName, id, undefined)).rejects.toThrow('no backend worker answers');
  expect(directory.find(of.key, 'userName', 'anna')).toBeDefined();
  forgetting = () => Promise.resolve();
  await desk.deleteUser(byName, id, undefined);
  expect(forgotten).toEqual(['ANN', 'anna']);
});

it('a deactivated user whose deletion fails is refused without an end', async () => {
  const id = await created(ann);
  await set(id, false);
  forgetting = () => Promise.reject(new Error('no backend worker answers'));
  await expect(desk.deleteUser(of, id, undefined)).rejects.toThrow('no backend worker answers');
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31 * 24 * 60 * 60_000 });
  expect(isRefused()).toBe(true);
  forgetting = () => Promise.resolve();
  await desk.deleteUser(of, id, undefined);
  expect(isRefused()).toBe(true);
  vi.setSystemTime(Date.now() + 31 * 24 * 60 * 60_000);
  await expect.poll(() => isRefused()).toBe(false);
});

it('the former name of a renamed user is refused until another user gets it', async () => {
  const id = await created(ann);
  await desk.changeUser(of, id, replace('externalId', 'o-2'), undefined);
  await expect.poll(() => isRefused('o-1')).toBe(true);
  expect(isRefused('o-2')).toBe(false);
  await created({ userName: 'ben', externalId: 'o-1' });
  await expect.poll(() => isRefused('o-1')).toBe(false);
});

it('a store that does not answer is no missing user', async () => {
  const { entry } = await desk.createGroup(of, { displayName: 'eng' });
  const id = await created(ann);
  const known = directory.get.bind(directory);
  directory.get = (at, name) => (name === id ? Promise.reject(new BusError('timeout', 'no answer')) : known(at, name));
  await expect(desk.changeGroup(of, entry.id, replace('members', [{ value: id }], 'add'), undefined)).rejects.toThrow(
    'no answer',
  );
});
