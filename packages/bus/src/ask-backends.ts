/** Questions about sign-ins of users, which any backend worker answers. */
import type { ConnectCommand, ConnectReply } from '@omnibus/protocol';
import { askOnce } from './ask-once.ts';
import type { Bus } from './bus.ts';
import { BusError } from './errors.ts';
import { subjects } from './subjects.ts';

const answerMs = 30_000;

/** Asks one backend worker. @returns `failed` where none answers in time, or there is none. */
export async function askBackends(bus: Bus, command: ConnectCommand): Promise<ConnectReply> {
  const answer = await askOnce({ bus }, subjects.connect, command, answerMs);
  if (answer === 'late') return { kind: 'failed', problem: 'no process of the role backend has answered; try again' };
  if (!(answer instanceof BusError)) return answer;
  if (answer.kind !== 'no-responders') throw answer;
  return {
    kind: 'failed',
    problem:
      'no process of the gateway takes sign-ins: no connected server has credentials: { kind: oauth }, or no process of the role backend runs',
  };
}
