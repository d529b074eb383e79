import { getShortestPaths } from 'xstate/graph';
import { describe, expect, it } from 'vitest';
import { sessionMachine, stepOf, type SessionEffect, type SessionEvent, type SessionState } from './machine.ts';

const initialize: SessionEvent = { type: 'client.initialize' };
const initialized: SessionEvent = { type: 'client.initialized' };
const deleted: SessionEvent = { type: 'client.deleted' };
const idle: SessionEvent = { type: 'idle.noted' };
const drain: SessionEvent = { type: 'drain.requested' };

/** @returns the state after the events, and the effects of the last one. */
function walk(...events: SessionEvent[]): { readonly state: SessionState; readonly effects: readonly SessionEffect[] } {
  return events.reduce<ReturnType<typeof walk>>(({ state }, event) => stepOf(state, event), {
    state: 'opening',
    effects: [],
  });
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
    ['is released when it is drained', [initialize, initialized, drain, { type: 'drained' }], 'closed', ['release']],
  ])('%s', (_title, events, state, effects) => {
    expect(walk(...events)).toEqual({ state, effects });
  });

  it.each<[string, SessionEvent[], SessionState]>([
    ['before initialize', [initialized], 'opening'],
    ['before the client confirms', [initialize, { type: 'drained' }], 'awaitingInitialized'],
    ['after the end', [initialize, deleted, deleted, idle, drain, initialize], 'closed'],
  ])('an event without a meaning changes nothing: %s', (_title, events, state) => {
    expect(walk(...events)).toEqual({ state, effects: [] });
  });

  it('all sessions share the steps', () => {
    expect(stepOf('ready', deleted)).toBe(stepOf('ready', { ...deleted }));
  });

  it('reaches every state', () => {
    const paths = getShortestPaths(sessionMachine, {
      events: [initialize, initialized, deleted, idle, drain, { type: 'drained' }],
      serializeState: (state) => JSON.stringify(state.value),
    });
    expect([...new Set(paths.map(({ state }) => state.value as string))].sort()).toEqual([
      'awaitingInitialized',
      'closed',
      'draining',
      'expired',
      'opening',
      'ready',
    ]);
  });
});
