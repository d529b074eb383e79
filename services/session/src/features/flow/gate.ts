/** Reads the labels of the conversation before a call, and has the call planned again with them. */
import type { GatewayFault, Labels } from '@omnibus/protocol';
import type { CallStream } from '../../call/client-port.ts';
import type { Gate, GateRun } from '../../call/gates.ts';
import { WaitingRequest } from '../../call/open-requests.ts';
import type { Planned } from '../../call/planned-again.ts';
import type { Conversations } from './conversations.ts';

export function flowGate(conversations: Conversations): Gate {
  const gate: Gate = {
    takes(planned, run) {
      const { call, plan } = planned;
      if (call.labels !== undefined || plan.kind === 'refuse' || plan.kind === 'list') return false;
      wait(gate, planned, run, conversations.read(run.port));
      return true;
    },
  };
  return gate;
}

function wait<Stream extends CallStream>(
  gate: Gate,
  { call }: Planned<Stream>,
  run: GateRun<Stream>,
  reading: Promise<Labels | GatewayFault>,
): void {
  const waiting = new WaitingRequest(
    call,
    () => call.stream.leaveUnanswered(),
    (gatewayFault) => run.messages.answerFault(call.stream, call.id, gatewayFault),
  );
  run.open.add(waiting);
  run.open.after(waiting, reading, (labels) =>
    run.open.resume(waiting, () => {
      if ('reason' in labels) run.messages.deny(call, labels);
      else run.next(gate, run.again({ ...call, labels }));
    }),
  );
}
