/**
 * The states of one call that needs an approval.
 *
 *               asked             approved              used, void
 *   preparing ---------> waiting ----------> approved ------------> used, void
 *       |                   |
 *       |                   | refused, expired, withdrawn, impossible
 *       |                   v
 *       +-------------> refused, expired, withdrawn, impossible
 *         withdrawn, impossible
 *
 * Each end has the name of its event. The machine is pure and has no timers: `approvals.ts` acts when the state has changed.
 */
import { setup } from 'xstate';

export interface ApprovalEvent {
  readonly type: 'asked' | 'approved' | 'used' | 'void' | 'refused' | 'expired' | 'withdrawn' | 'impossible';
}

export const approvalMachine = setup({ types: { events: {} as ApprovalEvent } }).createMachine({
  initial: 'preparing',
  states: {
    preparing: { on: { asked: 'waiting', withdrawn: 'withdrawn', impossible: 'impossible' } },
    waiting: {
      on: {
        approved: 'approved',
        refused: 'refused',
        expired: 'expired',
        withdrawn: 'withdrawn',
        impossible: 'impossible',
      },
    },
    approved: { on: { used: 'used', void: 'void' } },
    used: { type: 'final' },
    void: { type: 'final' },
    refused: { type: 'final' },
    expired: { type: 'final' },
    withdrawn: { type: 'final' },
    impossible: { type: 'final' },
  },
});
