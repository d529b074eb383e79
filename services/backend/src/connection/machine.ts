/**
 * One upstream connection's life.
 *
 *            start               transport.opened           handshake.done
 *   idle ------------> connecting ----------------> negotiating ---------> ready
 *                        ^   |                          |  ^                 |
 *            retry.due,  |   | lost                lost |  | session.gone    | lost
 *    credentials.changed |   |                          |  |                 |
 *                        |   v                          v  +-----------------+
 *                        backoff <--------------------------------------------
 *
 *   `rest` leads from `ready` to `resting`: the circuit is open, and the connection stays for the answers of running calls. After
 *   the back-off `rested` leads from there to `ready` while it still does, and `retry.due` to `connecting`; `lost` leads to `backoff`.
 *
 *   stop leads to `stopped` from everywhere. `settled` comes when it has been ready for a while. `doze` leads from `ready` to `asleep`, where nothing is
 *   connected and nothing is wrong, and `wake` from there to `connecting`.
 *
 * It is a circuit breaker too: closed in `ready`, open in `backoff` and `resting`, and the next handshake, or the next requests, are the attempt that decides.
 *
 * The machine is pure: effects are named here and given by `connection/connection.ts`; times and randomness stay outside.
 */
import type { ServerTrouble } from '@omnibus/protocol';
import type { CircuitCause } from '@omnibus/telemetry';
import { assign, setup } from 'xstate';

export type ConnectionEvent =
  | { readonly type: 'start' }
  | { readonly type: 'transport.opened' }
  | { readonly type: 'handshake.done' }
  | { readonly type: 'settled' }
  | {
      readonly type: 'lost';
      readonly cause: CircuitCause;
      readonly problem: string;
      readonly trouble?: ServerTrouble | undefined;
    }
  | { readonly type: 'rest'; readonly cause: CircuitCause; readonly problem: string; readonly trouble?: undefined }
  | { readonly type: 'rested' }
  | { readonly type: 'session.gone' }
  | { readonly type: 'retry.due' }
  | { readonly type: 'credentials.changed' }
  | { readonly type: 'doze' }
  | { readonly type: 'wake' }
  | { readonly type: 'stop' };

export interface ConnectionContext {
  /** How often the connection was lost without having been ready for long; the back-off grows with it. */
  readonly failures: number;
  /** Why it is not connected, in words. */
  readonly problem: string;
  /** What kind of problem that is, where it is known. */
  readonly trouble: ServerTrouble | undefined;
  /** Whether it has been ready at least once since the start or since it last slept. */
  readonly wasReady: boolean;
  /** Whether it has been ready since it was last lost or asleep. */
  readonly isUp: boolean;
  /** Number of events that had no meaning in their state. */
  readonly unexpected: number;
}

const unprovided = (name: string) => (): void => {
  throw new Error(`connection machine: action '${name}' has no implementation`);
};

export const connectionMachine = setup({
  types: { context: {} as ConnectionContext, events: {} as ConnectionEvent },
  actions: {
    openTransport: unprovided('openTransport'),
    shakeHands: unprovided('shakeHands'),
    announceReady: unprovided('announceReady'),
    announceLost: unprovided('announceLost'),
    closeTransport: unprovided('closeTransport'),
    scheduleRetry: unprovided('scheduleRetry'),
    cancelRetry: unprovided('cancelRetry'),
    scheduleSettling: unprovided('scheduleSettling'),
    cancelSettling: unprovided('cancelSettling'),
    noteProblem: assign(({ event, context: { problem, trouble } }) =>
      event.type === 'lost' || event.type === 'rest'
        ? { problem: event.problem, trouble: event.trouble }
        : { problem, trouble },
    ),
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    forgetProblem: assign({ problem: '', trouble: undefined }),
    noteReady: assign({ wasReady: true, isUp: true }),
    noteDown: assign({ isUp: false }),
    // Waking up does not count as a restart then.
    noteAsleep: assign({ wasReady: false, isUp: false }),
    forgetFailures: assign({ failures: 0 }),
    countUnexpected: assign({ unexpected: ({ context }) => context.unexpected + 1 }),
  },
}).createMachine({
  context: {
    failures: 0,
    problem: 'it has not been started',
    trouble: undefined,
    wasReady: false,
    isUp: false,
    unexpected: 0,
  },
  initial: 'idle',
  on: { stop: '.stopped', '*': { actions: 'countUnexpected' } },
  states: {
    idle: { on: { start: { target: 'connecting', actions: 'forgetProblem' } } },
    connecting: {
      entry: 'openTransport',
      on: { 'transport.opened': 'negotiating', lost: { target: 'backoff', actions: 'noteProblem' } },
    },
    negotiating: {
      entry: 'shakeHands',
      on: { 'handshake.done': 'ready', lost: { target: 'backoff', actions: 'noteProblem' } },
    },
    ready: {
      entry: ['forgetProblem', 'scheduleSettling', 'announceReady', 'noteReady'],
      exit: 'cancelSettling',
      on: {
        settled: { actions: 'forgetFailures' },
        lost: { target: 'backoff', actions: 'noteProblem' },
        rest: { target: 'resting', actions: 'noteProblem' },
        'session.gone': { target: 'connecting', actions: 'closeTransport' },
        doze: 'asleep',
      },
    },
    backoff: {
      entry: ['announceLost', 'closeTransport', 'scheduleRetry', 'countFailure', 'noteDown'],
      exit: 'cancelRetry',
      // With other credentials it has not failed so far, and requests wait for it (C4).
      on: {
        'retry.due': 'connecting',
        'credentials.changed': { target: 'connecting', actions: 'forgetProblem' },
        lost: {},
      },
    },
    resting: {
      entry: ['announceLost', 'scheduleRetry', 'countFailure', 'noteDown'],
      exit: 'cancelRetry',
      on: {
        rested: 'ready',
        'retry.due': { target: 'connecting', actions: 'closeTransport' },
        lost: { target: 'backoff', actions: 'noteProblem' },
      },
    },
    asleep: { entry: ['closeTransport', 'noteAsleep'], on: { wake: 'connecting', lost: {} } },
    stopped: { type: 'final', entry: 'closeTransport' },
  },
});
