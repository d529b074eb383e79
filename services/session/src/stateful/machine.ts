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
 * The machine is pure and has no timers: XState does not re-arm them from a snapshot, so the worker checks its sessions regularly and sends
 * `idle.noted` to those after their time. Requests do not pass through here, since there are tens of thousands a second.
 */
import { assign, setup } from 'xstate';
import type { JsonObject, Revision } from '@omnibus/protocol';

export type SessionEvent =
  | { readonly type: 'client.initialize'; readonly revision: Revision; readonly capabilities: JsonObject }
  | { readonly type: 'client.initialized' }
  | { readonly type: 'client.deleted' }
  | { readonly type: 'idle.noted' }
  | { readonly type: 'drain.requested' }
  | { readonly type: 'drained' };

/** The acts of a session when its state changes. */
export interface SessionEffects {
  announcePending(): void;
  endStreams(): void;
  release(): void;
  countExpired(): void;
}

export interface SessionContext {
  readonly effects: SessionEffects;
  readonly revision: Revision | undefined;
  /** Capabilities that the client declared. */
  readonly capabilities: JsonObject;
  /** Events that had no meaning in their state. */
  readonly unexpected: number;
}

/** All sessions share it. `provide` would make a copy of all its states for each session, which is half of the memory of an idle one. */
export const sessionMachine = setup({
  types: { context: {} as SessionContext, events: {} as SessionEvent, input: {} as SessionEffects },
  actions: {
    announcePending: ({ context: { effects } }) => effects.announcePending(),
    endStreams: ({ context: { effects } }) => effects.endStreams(),
    release: ({ context: { effects } }) => effects.release(),
    countExpired: ({ context: { effects } }) => effects.countExpired(),
    keepIntroduction: assign(({ event, context }) =>
      event.type === 'client.initialize' ? { revision: event.revision, capabilities: event.capabilities } : context,
    ),
    countUnexpected: assign({ unexpected: ({ context }) => context.unexpected + 1 }),
  },
}).createMachine({
  context: ({ input: effects }) => ({ effects, revision: undefined, capabilities: {}, unexpected: 0 }),
  initial: 'opening',
  on: { '*': { actions: 'countUnexpected' } },
  states: {
    opening: {
      on: {
        'client.initialize': { target: 'awaitingInitialized', actions: 'keepIntroduction' },
        'drain.requested': 'closed',
      },
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
