import { getShortestPaths } from 'xstate/graph';
import { describe, expect, it } from 'vitest';
import { getNextTransitions, initialTransition, transition } from 'xstate';
import { connectionMachine, type ConnectionEvent } from './machine.ts';

const lost: ConnectionEvent = { type: 'lost', cause: 'connection', problem: 'gone' };
const rest: ConnectionEvent = { type: 'rest', cause: 'faults', problem: 'it fails' };

/** Walks the machine without running an effect. */
function walk(...events: ConnectionEvent[]) {
  let [snapshot, actions] = initialTransition(connectionMachine);
  for (const event of events) [snapshot, actions] = transition(connectionMachine, snapshot, event);
  return {
    value: snapshot.value,
    context: snapshot.context,
    effects: actions.map(({ type }) => type).filter((type) => !type.startsWith('xstate.')),
  };
}

const toReady: ConnectionEvent[] = [{ type: 'start' }, { type: 'transport.opened' }, { type: 'handshake.done' }];

describe('the upstream connection machine', () => {
  it.each<[string, ConnectionEvent[], string, string[]]>([
    ['opens a transport when started', [{ type: 'start' }], 'connecting', ['openTransport']],
    ['shakes hands on an open transport', toReady.slice(0, 2), 'negotiating', ['shakeHands']],
    ['is announced when ready', toReady, 'ready', ['scheduleSettling', 'announceReady']],
    [
      'backs off when a transport cannot be opened',
      [{ type: 'start' }, lost],
      'backoff',
      ['announceLost', 'closeTransport', 'scheduleRetry'],
    ],
    [
      'backs off when the handshake fails',
      [...toReady.slice(0, 2), lost],
      'backoff',
      ['announceLost', 'closeTransport', 'scheduleRetry'],
    ],
    [
      'backs off when it is lost',
      [...toReady, lost],
      'backoff',
      ['cancelSettling', 'announceLost', 'closeTransport', 'scheduleRetry'],
    ],
    [
      'connects again when the retry is due',
      [...toReady, lost, { type: 'retry.due' }],
      'connecting',
      ['cancelRetry', 'openTransport'],
    ],
    [
      'connects at once when only its session is gone',
      [...toReady, { type: 'session.gone' }],
      'connecting',
      ['cancelSettling', 'closeTransport', 'openTransport'],
    ],
    ['stays in back-off when it is lost again', [...toReady, lost, lost], 'backoff', []],
    [
      'keeps its transport when it rests',
      [...toReady, rest],
      'resting',
      ['cancelSettling', 'announceLost', 'scheduleRetry'],
    ],
    [
      'is ready again when it has rested',
      [...toReady, rest, { type: 'rested' }],
      'ready',
      ['cancelRetry', 'scheduleSettling', 'announceReady'],
    ],
    [
      'connects again when it works on nothing after its rest',
      [...toReady, rest, { type: 'retry.due' }],
      'connecting',
      ['cancelRetry', 'closeTransport', 'openTransport'],
    ],
    [
      'backs off when it is lost at rest',
      [...toReady, rest, lost],
      'backoff',
      ['cancelRetry', 'announceLost', 'closeTransport', 'scheduleRetry'],
    ],
    [
      'closes its transport when stopped at rest',
      [...toReady, rest, { type: 'stop' }],
      'stopped',
      ['cancelRetry', 'closeTransport'],
    ],
    [
      'closes its transport when it falls asleep',
      [...toReady, { type: 'doze' }],
      'asleep',
      ['cancelSettling', 'closeTransport'],
    ],
    ['connects when it is woken', [...toReady, { type: 'doze' }, { type: 'wake' }], 'connecting', ['openTransport']],
    ['sleeps on when what it closed says that it is lost', [...toReady, { type: 'doze' }, lost], 'asleep', []],
    [
      'closes its transport when stopped',
      [...toReady, { type: 'stop' }],
      'stopped',
      ['cancelSettling', 'closeTransport'],
    ],
    [
      'gives up the retry when stopped in back-off',
      [{ type: 'start' }, lost, { type: 'stop' }],
      'stopped',
      ['cancelRetry', 'closeTransport'],
    ],
  ])('%s', (_title, events, value, effects) => {
    expect(walk(...events)).toMatchObject({ value, effects });
  });

  const again: ConnectionEvent[] = [{ type: 'retry.due' }, { type: 'transport.opened' }, { type: 'handshake.done' }];

  it('counts failures in a row, and forgets them only when it has been ready for a while', () => {
    expect(walk({ type: 'start' }, lost, { type: 'retry.due' }, lost).context).toMatchObject({
      failures: 2,
      problem: 'gone',
    });
    expect(walk({ type: 'start' }, lost, ...again, lost, ...again).context).toMatchObject({ failures: 2, problem: '' });
    expect(walk({ type: 'start' }, lost, ...again, { type: 'settled' }).context).toMatchObject({
      failures: 0,
      problem: '',
    });
  });

  it('knows of no problem while it connects for the first time, or anew after its session is gone', () => {
    expect(walk({ type: 'start' }).context.problem).toBe('');
    expect(walk({ type: 'start' }, lost, ...again, { type: 'session.gone' }).context.problem).toBe('');
    expect(walk({ type: 'start' }, lost, ...again, { type: 'doze' }, { type: 'wake' }).context.problem).toBe('');
    expect(walk({ type: 'start' }, lost, { type: 'retry.due' }).context.problem).toBe('gone');
  });

  it('counts an event that means nothing in its state', () => {
    expect(walk({ type: 'retry.due' }).context.unexpected).toBe(1);
  });

  it('reaches every state, and none but the last is a dead end', () => {
    const paths = getShortestPaths(connectionMachine, {
      events: [
        ...toReady,
        lost,
        rest,
        { type: 'rested' },
        { type: 'session.gone' },
        { type: 'retry.due' },
        { type: 'doze' },
        { type: 'wake' },
        { type: 'stop' },
      ],
      serializeState: (state) => JSON.stringify(state.value),
    });
    const states = new Map(paths.map(({ state }) => [state.value as string, state]));
    expect([...states.keys()].sort()).toEqual([
      'asleep',
      'backoff',
      'connecting',
      'idle',
      'negotiating',
      'ready',
      'resting',
      'stopped',
    ]);
    for (const [value, state] of states) {
      if (value !== 'stopped') expect(getNextTransitions(state as never).length).toBeGreaterThan(1);
    }
  });
});
