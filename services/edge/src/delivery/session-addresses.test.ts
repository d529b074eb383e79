import { expect, it } from 'vitest';
import { newSessionId, newWorkerId } from '@omnibus/protocol';
import { SessionAddresses } from './session-addresses.ts';

const owner = newWorkerId('session');

it('sessions in use are remembered, however many others are found', () => {
  const addresses = new SessionAddresses(100);
  const used = Array.from({ length: 50 }, newSessionId);
  for (const id of used) addresses.opened(id, owner);
  for (let count = 0; count < 1_000; count += 1) {
    addresses.of(newSessionId()).heldBy(owner);
    for (const id of used) expect(addresses.of(id).owner).toBe(owner);
  }
});

it('one that was forgotten is asked for anew, and one that was opened keeps its owner', () => {
  const addresses = new SessionAddresses(2);
  const [one, two, three] = [newSessionId(), newSessionId(), newSessionId()];
  addresses.opened(one, owner);
  addresses.opened(two, owner);
  addresses.opened(three, owner);
  expect([three, two, one].map((id) => addresses.of(id).owner)).toEqual([owner, owner, undefined]);
});

it('invented ids leave nothing behind and evict no other', () => {
  const addresses = new SessionAddresses(2);
  const [one, two] = [newSessionId(), newSessionId()];
  addresses.opened(one, owner);
  addresses.of(two).heldBy(owner);
  for (let count = 0; count < 1_000; count += 1) addresses.of(newSessionId());
  expect([one, two].map((id) => addresses.of(id).owner)).toEqual([owner, owner]);
});
