/**
 * The states of one client session.
 *
 *             client.initialize            client.initialized           drain.requested
 *   opening --------------------> awaitingInitialized ------------> ready ------------> draining
 *                                     |        |                     |  |                  |
 *                          idle.noted |        | client.deleted      |  |                  | drained
 *                                     v        v                     v  v                  v
 *                                  expired   closed              expired closed          closed
 *
 * The machine has no context and no timers. A session keeps the name of its state only, and asks `stepOf` for the next one: an actor of XState for each session
 * was a fifth of the memory of an idle one. The worker checks its sessions regularly and sends `idle.noted` to those after their time. Requests do not pass
 * through here, since there are tens of thousands a second.
 */
import { setup, transition } from 'xstate';

export type SessionEvent = {
  readonly type:
    | 'client.initialize'
    | 'client.initialized'
    | 'client.deleted'
    | 'idle.noted'
    | 'drain.requested'
    | 'drained';
};

/** The acts of a session when its state changes. */
export type SessionEffect = 'announcePending' | 'endStreams' | 'release' | 'countExpired';

/** Performed by the session, which gets their names from `stepOf`. */
const byTheSession = (): void => undefined;

export const sessionMachine = setup({
  types: { events: {} as SessionEvent },
  actions: {
    announcePending: byTheSession,
    endStreams: byTheSession,
    release: byTheSession,
    countExpired: byTheSession,
  },
}).createMachine({
  initial: 'opening',
  states: {
    opening: {
      on: { 'client.initialize': 'awaitingInitialized', 'drain.requested': 'closed' },
    },
    awaitingInitialized: {
      on: {
        'client.initialized': 'ready',
        'client.deleted': 'closed',
        'idle.noted': 'expired',
        'drain.requested': 'draining',
      },
    },
    ready: {
      entry: 'announcePending',
      // A client that says it twice, after a reconnect of its own, does no harm.
      on: {
        'client.initialized': {},
        'client.deleted': 'closed',
        'idle.noted': 'expired',
        'drain.requested': 'draining',
      },
    },
    draining: { entry: 'endStreams', on: { 'client.initialized': {}, 'client.deleted': 'closed', drained: 'closed' } },
    expired: { type: 'final', entry: ['countExpired', 'release'] },
    closed: { type: 'final', entry: 'release' },
  },
});

export type SessionState = ReturnType<typeof sessionMachine.resolveState>['value'];

interface SessionStep {
  readonly state: SessionState;
  /** In order. */
  readonly effects: readonly SessionEffect[];
}

/** All sessions share the steps: one for each state and event. */
const steps = new Map<string, SessionStep>();

/** An event that has no meaning in a state changes nothing. */
export function stepOf(state: SessionState, { type }: SessionEvent): SessionStep {
  const key = `${state} ${type}`;
  const known = steps.get(key);
  if (known !== undefined) return known;
  const [next, actions] = transition(sessionMachine, sessionMachine.resolveState({ value: state }), { type });
  const step = { state: next.value, effects: actions.map((action) => action.type as SessionEffect) };
  steps.set(key, step);
  return step;
}
