import { getShortestPaths } from 'xstate/graph';
import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import { startActor } from '@omnibus/lifecycle';
import { sessionMachine, type SessionEffect, type SessionEvent } from './machine.ts';

const initialize: SessionEvent = { type: 'client.initialize' };
const initialized: SessionEvent = { type: 'client.initialized' };
const deleted: SessionEvent = { type: 'client.deleted' };
const idle: SessionEvent = { type: 'idle.noted' };
const drain: SessionEvent = { type: 'drain.requested' };
const left: SessionEvent = { type: 'left' };

function walk(...events: SessionEvent[]) {
  let [snapshot, actions] = initialTransition(sessionMachine, () => undefined);
  for (const event of events) [snapshot, actions] = transition(sessionMachine, snapshot, event);
  return {
    value: snapshot.value,
    effects: actions.map(({ type }) => type).filter((type) => !type.startsWith('xstate.')),
  };
}

describe('the session machine', () => {
  it.each<[string, SessionEvent[], string, string[]]>([
    ['waits for the client to confirm', [initialize], 'awaitingInitialized', []],
    ['announces what waited once the client is ready', [initialize, initialized], 'ready', ['announcePending']],
    ['does not mind a second confirmation', [initialize, initialized, initialized], 'ready', []],
    ['ends when the client deletes it', [initialize, initialized, deleted], 'closed', ['release']],
    ['ends when the client deletes it before confirming', [initialize, deleted], 'closed', ['release']],
    [
      'expires when nothing happened for too long',
      [initialize, initialized, idle],
      'expired',
      ['countExpired', 'release'],
    ],
    ['expires when the client never confirms', [initialize, idle], 'expired', ['countExpired', 'release']],
    ['ends its streams when the gateway stops', [initialize, initialized, drain], 'draining', ['endStreams']],
    ['leaves its worker without an effect, opened or not', [left], 'left', []],
    ['leaves its worker in use', [initialize, initialized, left], 'left', []],
    ['is not ended by a worker that it has left', [initialize, initialized, left, idle, deleted], 'left', []],
    ['is released when it is drained', [initialize, initialized, drain, { type: 'drained' }], 'closed', ['release']],
  ])('%s', (_title, events, value, effects) => {
    expect(walk(...events)).toMatchObject({ value, effects });
  });

  it.each<[string, SessionEvent[], string]>([
    ['before initialize', [initialized], 'opening'],
    ['before the client confirms', [initialize, { type: 'drained' }], 'awaitingInitialized'],
    ['after the end', [initialize, deleted, deleted, idle, drain, initialize], 'closed'],
  ])('an event without a meaning changes nothing: %s', (_title, events, value) => {
    expect(walk(...events)).toEqual({ value, effects: [] });
  });

  it('has the effects of the session that an actor is of', () => {
    const done: SessionEffect[][] = [[], []];
    const actors = done.map((own) =>
      startActor(sessionMachine, {
        input: (effect) => void own.push(effect),
        onFailure: (error) => expect.fail(String(error)),
      }),
    );
    for (const event of [initialize, initialized, deleted]) actors[0]?.send(event);
    expect(done).toEqual([['announcePending', 'release'], []]);
  });

  it('an effect that fails ends the actor of its session, and no other one', () => {
    const failures: unknown[] = [];
    const actors = [0, 1].map((own) =>
      startActor(sessionMachine, {
        input: () => {
          if (own === 0) throw new Error('no stream');
        },
        isShared: true,
        onFailure: (error) => void failures.push(error),
      }),
    );
    for (const actor of actors) for (const event of [initialize, initialized]) actor.send(event);
    expect(failures).toEqual([new Error('no stream')]);
    expect(actors.map((actor) => actor.getSnapshot().status)).toEqual(['error', 'active']);
    actors[1]?.send(left);
  });

  it('reaches every state', () => {
    const paths = getShortestPaths(sessionMachine, {
      input: () => undefined,
      events: [initialize, initialized, deleted, idle, drain, { type: 'drained' }, left],
      serializeState: (state) => JSON.stringify(state.value),
    });
    expect([...new Set(paths.map(({ state }) => state.value as string))].sort()).toEqual([
      'awaitingInitialized',
      'closed',
      'draining',
      'expired',
      'left',
      'opening',
      'ready',
    ]);
  });
});
