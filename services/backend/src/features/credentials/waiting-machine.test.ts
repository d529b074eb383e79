import { startActor } from '@omnibus/lifecycle';
import { expect, it } from 'vitest';
import { getShortestPaths } from 'xstate/graph';
import { waitingMachine, type WaitingEvent } from './waiting-machine.ts';

type Type = WaitingEvent['type'];
const all: readonly Type[] = ['invited', 'waits', 'confirms', 'signedIn', 'codeWanted', 'refused', 'ended'];

/** The events with a meaning after these. */
function accepted(...before: readonly Type[]): readonly Type[] {
  const actor = startActor(waitingMachine, {
    onFailure: (error) => {
      throw error;
    },
  });
  for (const type of before) actor.send({ type });
  return all.filter((type) => actor.getSnapshot().can({ type }));
}

it('each state is reached, and each but the end can be left', () => {
  const paths = getShortestPaths(waitingMachine, {
    events: all.map((type) => ({ type })),
    serializeState: ({ value }) => JSON.stringify(value),
    limit: 1_000,
  });
  const values = paths.map(({ state }) => state.value).toSorted();
  expect(values).toEqual(['asking', 'calling', 'confirming', 'ended', 'invited', 'waiting']);
  for (const { state } of paths) expect(state.can({ type: 'ended' }), state.value).toBe(state.value !== 'ended');
});

it('a call that waits goes on after a sign-in, asks again when a code is wanted, or ends', () => {
  expect(accepted('waits')).toEqual(['signedIn', 'codeWanted', 'ended']);
  expect(accepted('invited')).toEqual(['waits', 'ended']);
  expect(accepted('waits', 'codeWanted', 'confirms')).toEqual(['signedIn', 'ended']);
  expect(accepted('waits', 'ended')).toEqual([]);
});

it('a call waits for three sign-ins at most', () => {
  const again: readonly Type[] = ['waits', 'signedIn', 'refused'];
  expect(accepted(...again, ...again)).toEqual(['invited', 'waits', 'confirms', 'ended']);
  expect(accepted(...again, ...again, ...again)).toEqual(['confirms', 'ended']);
});
