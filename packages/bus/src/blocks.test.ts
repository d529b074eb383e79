import type { Facts, Principal } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { Blocks } from './blocks.ts';
import { MemoryBus } from './memory/bus.ts';

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
