import type { Facts, Principal } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { Blocks, isOfGone } from './blocks.ts';
import { MemoryBus } from './memory/bus.ts';
import { blocksBucket } from './subjects.ts';

const issuer = 'https://login.example.com';
const caller = (subject: string, more: Partial<Facts> = {}): Facts => ({
  issuer,
  subject,
  principal: 'p_x' as Principal,
  tenant: undefined,
  actors: [],
  groups: [],
  scopes: [],
  client: undefined,
  expiresAt: undefined,
  key: undefined,
  ...more,
});

it('a user that its directory has deactivated is refused in its tenant alone, and no operator can admit it', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const [blocks, elsewhere] = [await Blocks.open(bus), await Blocks.open(bus)];
  const refused = (facts: Facts): boolean => elsewhere.callerProblem(facts)?.reason === 'auth.blocked';
  await blocks.addGone({ name: `${issuer}|ann`, by: 'scim', at: 1 });
  await blocks.addGone({ name: `${issuer}|ben`, tenant: 'acme', by: 'scim', at: 1 });
  await expect.poll(() => elsewhere.size).toBe(2);
  expect(refused(caller('ann'))).toBe(true);
  expect(refused(caller(`${issuer}|ann`, { issuer: 'https://mcp.example.com' }))).toBe(true);
  expect(refused(caller('ann', { tenant: 'acme' }))).toBe(false);
  // An agent that acts for the user is refused with the user; its own token is not the user's.
  const assistant = { issuer: 'https://mcp.example.com', subject: 'agent:assistant' };
  expect(refused(caller('ann', { actors: [assistant] }))).toBe(true);
  expect(refused(caller(assistant.subject, { issuer: assistant.issuer }))).toBe(false);
  expect([refused(caller('ben')), refused(caller('ben', { tenant: 'acme' }))]).toEqual([false, true]);
  // An operator sees and removes operators' blocks only, and its own block of the same user stays.
  await blocks.add({ kind: 'user', name: `${issuer}|ann`, by: 'root', at: 2 });
  await expect.poll(() => elsewhere.all.map(({ by }) => by)).toEqual(['root']);
  await blocks.remove('user', `${issuer}|ann`);
  await expect.poll(() => elsewhere.all).toEqual([]);
  expect(refused(caller('ann'))).toBe(true);
  const ann = { name: `${issuer}|ann` };
  await blocks.removeGone(ann, (await blocks.goneRevision(ann)) ?? 0);
  await expect.poll(() => refused(caller('ann'))).toBe(false);
  await blocks.addGone({ name: `${issuer}|cat`, by: 'scim', at: 1, until: 2 });
  await expect.poll(() => elsewhere.size).toBe(2);
  expect(refused(caller('cat'))).toBe(false);
  // User names of a directory are the same in capital and small letters; its ids are not.
  await blocks.addGone({ name: `${issuer}|Dan`, isAnyCase: true, by: 'scim', at: 1 });
  await blocks.addGone({ name: `${issuer}|00uA`, by: 'scim', at: 1 });
  await expect.poll(() => elsewhere.size).toBe(4);
  expect(['dan', 'DAN', `${issuer}|dAn`, '00ua', 'other'].map((name) => refused(caller(name)))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(elsewhere.goneProblem(caller('dan'))?.reason).toBe('auth.blocked');
  blocks.close();
  elsewhere.close();
});

it('records that have ended are removed with the next write, and those in force stay', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const bucket = await bus.keyValue(blocksBucket);
  const names = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    const watch = await bucket.watch((change) => change.kind === 'put' && found.push(change.value.name));
    watch.close();
    return found.toSorted();
  };
  const [blocks, elsewhere] = [await Blocks.open(bus), await Blocks.open(bus)];
  const longAgo = Date.now() - 3_600_000;
  // Nothing has ended when this process writes for the first time; it looks again a minute later.
  await blocks.addGone({ name: `${issuer}|gone`, by: 'scim', at: 1 });
  await blocks.add({ kind: 'tool', name: 'bank/pay', by: 'root', at: 1, until: longAgo });
  await blocks.add({ kind: 'server', name: 'bank', isPause: true, by: 'root', at: 1, until: longAgo });
  await blocks.addGone({ name: `${issuer}|old`, by: 'scim', at: 1, until: longAgo });
  await blocks.add({ kind: 'tool', name: 'bank/see', by: 'root', at: 1, until: Date.now() + 3_600_000 });
  await blocks.add({ kind: 'tool', name: 'just/now', by: 'root', at: 1, until: Date.now() - 1 });
  await expect.poll(() => elsewhere.size).toBe(6);
  await elsewhere.add({ kind: 'user', name: `${issuer}|eve`, by: 'root', at: 1 });
  await expect.poll(names).toEqual(['bank/see', `${issuer}|eve`, `${issuer}|gone`, 'just/now'].toSorted());
  await expect.poll(() => [blocks.size, elsewhere.size]).toEqual([4, 4]);
  blocks.close();
  elsewhere.close();
});

it('a full bucket has room for a new block once the records that have ended are removed', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const blocks = await Blocks.open(bus);
  const because = 'x'.repeat(1_000_000);
  await blocks.add({ kind: 'tool', name: 'first/one', by: 'root', at: 1 });
  for (let each = 0; each < 16; each += 1)
    await blocks.addGone({ name: `${issuer}|${each}`, by: 'scim', at: 1, because, until: 1 });
  await expect.poll(() => blocks.size).toBe(17);
  // Two at the same time share the removal.
  const last = ['last', 'other'].map((name) => ({ name: `${issuer}|${name}`, by: 'scim', at: 1, because }));
  await Promise.all(last.map((each) => blocks.addGone(each)));
  await expect.poll(() => blocks.size).toBe(3);
  blocks.close();
});

it('a record of a removed user is about that user in its tenant alone, and about its other spellings where they are the same', () => {
  const isAnn = isOfGone({ name: `${issuer}|ann` });
  const signedIn = caller(`${issuer}|ann`, { issuer: 'https://mcp.example.com' });
  expect([caller('ann'), signedIn].map(isAnn)).toEqual([true, true]);
  const others = [caller('Ann'), caller('anna'), caller('ann', { tenant: 'acme' }), caller('ann', { issuer: 'other' })];
  expect(others.map(isAnn)).toEqual([false, false, false, false]);
  const isDan = isOfGone({ name: `${issuer}|Dan`, tenant: 'acme', isAnyCase: true });
  expect([caller('dAN', { tenant: 'acme' }), caller('Dan')].map(isDan)).toEqual([true, false]);
});
