import { getShortestPaths } from 'xstate/graph';
import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import { startActor } from '@omnibus/lifecycle';
import { sessionMachine, type SessionEffects, type SessionEvent } from './machine.ts';

const initialize: SessionEvent = { type: 'client.initialize', revision: '2025-06-18', capabilities: { roots: {} } };
const initialized: SessionEvent = { type: 'client.initialized' };
const deleted: SessionEvent = { type: 'client.deleted' };
const idle: SessionEvent = { type: 'idle.noted' };
const drain: SessionEvent = { type: 'drain.requested' };

/** Notes the effects that were asked for. */
class Effects implements SessionEffects {
  readonly done: string[] = [];
  announcePending = (): void => void this.done.push('announcePending');
  endStreams = (): void => void this.done.push('endStreams');
  release = (): void => void this.done.push('release');
  countExpired = (): void => void this.done.push('countExpired');
}

function walk(...events: SessionEvent[]) {
  let [snapshot, actions] = initialTransition(sessionMachine, new Effects());
  for (const event of events) [snapshot, actions] = transition(sessionMachine, snapshot, event);
  return {
    value: snapshot.value,
    context: snapshot.context,
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
    ['is released when it is drained', [initialize, initialized, drain, { type: 'drained' }], 'closed', ['release']],
  ])('%s', (_title, events, value, effects) => {
    expect(walk(...events)).toMatchObject({ value, effects });
  });

  it('keeps what the client introduced itself with', () => {
    expect(walk(initialize).context).toMatchObject({ revision: '2025-06-18', capabilities: { roots: {} } });
  });

  it('counts an event that means nothing in its state', () => {
    expect(walk(initialized).context.unexpected).toBe(1);
  });

  it('has the effects of the session that an actor is of', () => {
    const [one, other] = [new Effects(), new Effects()];
    const actors = [one, other].map((input) =>
      startActor(sessionMachine, { input, onFailure: (error) => expect.fail(String(error)) }),
    );
    for (const event of [initialize, initialized, deleted]) actors[0]?.send(event);
    expect([one.done, other.done]).toEqual([['announcePending', 'release'], []]);
  });

  it('reaches every state', () => {
    const paths = getShortestPaths(sessionMachine, {
      input: new Effects(),
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
