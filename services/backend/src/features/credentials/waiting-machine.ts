/**
 * The states of one call that was refused because its user must sign in first.
 *
 *              waits
 *    +-------------------------------+
 *    |  invited             waits    v      signedIn
 *   asking ------> invited -----> waiting ------------> calling
 *    ^ | confirms                    |                  ^   |
 *    | +---------> confirming -------|---- signedIn ----+   |
 *    +---------- codeWanted ---------+                      |
 *    +-------------------- refused -------------------------+
 *
 * asking: the sign-ins of the server decide about the call. invited: the client is asked to open the address. confirming: the client is asked for the code of
 * its page. waiting: until the user has signed in. calling: the call is made again. From each state `ended` leads to `ended`.
 *
 * The machine is pure and has no timers: `waiting-call.ts` acts when the state has changed.
 */
import { assign, setup } from 'xstate';

export interface WaitingEvent {
  readonly type: 'invited' | 'waits' | 'confirms' | 'signedIn' | 'codeWanted' | 'refused' | 'ended';
}

/** Bound on the sign-ins that one call waits for: a server that demands more after each would have a user sign in without end. */
const maxWaits = 3;

export const waitingMachine = setup({
  types: { context: {} as { readonly waits: number }, events: {} as WaitingEvent },
  guards: { mayWait: ({ context: { waits } }) => waits < maxWaits },
  actions: { count: assign({ waits: ({ context: { waits } }) => waits + 1 }) },
}).createMachine({
  context: { waits: 0 },
  initial: 'asking',
  states: {
    asking: {
      on: {
        invited: { guard: 'mayWait', actions: 'count', target: 'invited' },
        waits: { guard: 'mayWait', actions: 'count', target: 'waiting' },
        confirms: 'confirming',
        ended: 'ended',
      },
    },
    invited: { on: { waits: 'waiting', ended: 'ended' } },
    confirming: { on: { signedIn: 'calling', ended: 'ended' } },
    waiting: { on: { signedIn: 'calling', codeWanted: 'asking', ended: 'ended' } },
    calling: { on: { refused: 'asking', ended: 'ended' } },
    ended: { type: 'final' },
  },
});
