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
 * `left` leads from each of them to the state of that name: its worker holds the session no more.
 *
 * The machine is pure and has no timers: XState does not re-arm them from a snapshot, so the worker checks its sessions regularly and sends
 * `idle.noted` to those after their time. Requests do not pass through here, since there are tens of thousands a second.
 */
import { setup } from 'xstate';

export interface SessionEvent {
  readonly type:
    | 'client.initialize'
    | 'client.initialized'
    | 'client.deleted'
    | 'idle.noted'
    | 'drain.requested'
    | 'drained'
    | 'left';
}

/** The acts of a session when its state changes. */
export type SessionEffect = 'announcePending' | 'endStreams' | 'release' | 'countExpired';

export type Perform = (effect: SessionEffect) => void;

/** All sessions share it. `provide` would make a copy of all its states for each session, which is half of the memory of an idle one. */
export const sessionMachine = setup({
  types: { context: {} as { readonly perform: Perform }, events: {} as SessionEvent, input: {} as Perform },
  actions: {
    announcePending: ({ context: { perform } }) => perform('announcePending'),
    endStreams: ({ context: { perform } }) => perform('endStreams'),
    release: ({ context: { perform } }) => perform('release'),
    countExpired: ({ context: { perform } }) => perform('countExpired'),
  },
}).createMachine({
  context: ({ input: perform }) => ({ perform }),
  initial: 'opening',
  on: { left: '.left' },
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
    left: { type: 'final' },
  },
});
