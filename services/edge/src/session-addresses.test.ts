import { expect, it } from 'vitest';
import { newSessionId, newWorkerId } from '@omnibus/protocol';
import { SessionAddresses } from './session-addresses.ts';

it('sessions in use are remembered, however many others are asked for', () => {
  const addresses = new SessionAddresses(100);
  const owner = newWorkerId('session');
  const used = Array.from({ length: 50 }, newSessionId);
  for (const id of used) addresses.opened(id, owner);
  for (let count = 0; count < 1_000; count += 1) {
    addresses.of(newSessionId());
    for (const id of used) expect(addresses.of(id).owner).toBe(owner);
  }
});

it('one that was forgotten is asked for anew, and one that was opened keeps its owner', () => {
  const addresses = new SessionAddresses(2);
  const [one, two, three] = [newSessionId(), newSessionId(), newSessionId()];
  const owner = newWorkerId('session');
  addresses.opened(one, owner);
  addresses.opened(two, owner);
  addresses.opened(three, owner);
  expect([three, two, one].map((id) => addresses.of(id).owner)).toEqual([owner, owner, undefined]);
});
