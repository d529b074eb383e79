import { startActor } from '@omnibus/lifecycle';
import { expect, it } from 'vitest';
import { approvalMachine, type ApprovalEvent } from './machine.ts';

type Type = ApprovalEvent['type'];
const all: readonly Type[] = ['asked', 'approved', 'used', 'void', 'refused', 'expired', 'withdrawn', 'impossible'];

/** The events with a meaning after these. */
function accepted(...before: readonly Type[]): readonly Type[] {
  const failed = (error: unknown): never => {
    throw error;
  };
  const actor = startActor(approvalMachine, { onFailure: failed });
  for (const type of before) actor.send({ type });
  return all.filter((type) => actor.getSnapshot().can({ type }));
}

it('a call that is prepared can be asked for, withdrawn, or impossible to ask for', () => {
  expect(accepted()).toEqual(['asked', 'withdrawn', 'impossible']);
});

it('a call that waits ends once, in one of five ways', () => {
  expect(accepted('asked')).toEqual(['approved', 'refused', 'expired', 'withdrawn', 'impossible']);
  for (const end of ['refused', 'expired', 'withdrawn', 'impossible'] as const)
    expect(accepted('asked', end), end).toEqual([]);
});

it('an approval is used once or void, and nothing withdraws it', () => {
  expect(accepted('asked', 'approved')).toEqual(['used', 'void']);
  expect(accepted('asked', 'approved', 'used')).toEqual([]);
  expect(accepted('asked', 'approved', 'void')).toEqual([]);
});
