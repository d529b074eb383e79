/** An edge waits until it knows the change that another edge has made. */
import type { DirectoryGroup } from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { KeyValue, KeyValueChange } from './bus.ts';
import { Directory } from './directory.ts';
import { MemoryBus } from './memory/bus.ts';

const group: DirectoryGroup = { kind: 'group', directory: 'd', id: 'g', displayName: 'eng', created: 1, changed: 1 };
let here: Directory;
let there: Directory;
/** Changes that the second edge has not heard of yet; undefined while it hears them at once. */
let held: (() => void)[] | undefined;

beforeEach(async () => {
  held = undefined;
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  here = await Directory.open(bus);
  const late = Object.create(bus) as MemoryBus;
  late.keyValue = async <Value>(...given: Parameters<MemoryBus['keyValue']>): Promise<KeyValue<Value>> => {
    const store = (await bus.keyValue(...given)) as KeyValue<Value>;
    const heard = (observer: (change: KeyValueChange<Value>) => void) => (change: KeyValueChange<Value>) =>
      held === undefined ? observer(change) : void held.push(() => observer(change));
    return { get: store.get.bind(store), watch: (observer) => store.watch(heard(observer)) } as KeyValue<Value>;
  };
  there = await Directory.open(late);
});
afterEach(() => {
  here.close();
  there.close();
});

const hear = (): void => {
  const changes = held ?? [];
  held = undefined;
  for (const change of changes) change();
};

it('an edge that waits for an entry continues when it hears of the entry', async () => {
  held = [];
  const revision = await here.create(group);
  const known = there.known('d', 'g', revision);
  setImmediate(hear);
  await known;
  expect(there.groupName('d', 'g')).toBe('eng');
});

it('an edge that waits for an entry stops when it hears that it was deleted', async () => {
  const revision = await here.create(group);
  await expect.poll(() => there.groupName('d', 'g')).toBe('eng');
  held = [];
  const changed = await here.update({ ...group, displayName: 'dev' }, revision);
  const known = there.known('d', 'g', changed);
  await here.delete(group, changed);
  // The store keeps the last change of each entry: a watch no longer passes the new name on.
  held.shift();
  setImmediate(hear);
  await expect(known).rejects.toMatchObject({ kind: 'revision-conflict' });
});

it('an edge waits for no entry of whose deletion it has heard before', async () => {
  const revision = await here.create(group);
  await here.delete(group, revision);
  await expect(there.known('d', 'g', revision)).rejects.toMatchObject({ kind: 'revision-conflict' });
});
