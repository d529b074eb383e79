/** Results of tasks of older servers, which clients of the tasks extension are given with the state of the task: their sizes count for limits (`bytes`). */
import type { ExtensionTaskMethod, GatewayFault } from '@omnibus/protocol';
import type { CallAccounting } from '../call/limits/call-gate.ts';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { PendingReply } from './pending-reply.ts';
import type { StatelessHost } from './stateless-host.ts';

/**
 * Serves a request about a task, unless a limit is used up.
 * @property then.serve called with the request whose answer is counted; at once where no part of a quota has to be leased first.
 */
export function fetchWithin(
  { callGate, factsOf }: Pick<StatelessHost, 'callGate' | 'factsOf'>,
  waiter: PendingReply,
  method: ExtensionTaskMethod,
  { server, tool = '' }: TaskAddress,
  then: { readonly serve: (counted: PendingReply) => void; readonly refuse: (refused: GatewayFault) => void },
): void {
  const { caller } = waiter.command;
  const facts = factsOf(caller);
  const begun =
    method !== 'tasks/get' || tool === '' || callGate?.isFor(facts) !== true
      ? undefined
      : callGate.begin({ caller, facts, server, kind: 'tool', name: tool, isFetch: true });
  const goOn = (accounting: CallAccounting | GatewayFault | undefined): void => {
    if (accounting === undefined) then.serve(waiter);
    else if ('reason' in accounting) then.refuse(accounting);
    else then.serve(countedBy(accounting, waiter));
  };
  if (begun instanceof Promise) void begun.then(goOn);
  else goOn(begun);
}

function countedBy(accounting: CallAccounting, { command, reply }: PendingReply): PendingReply {
  return {
    command,
    reply: (frame) => {
      if (frame.kind === 'message' && frame.last)
        accounting.answered({ kind: 'result', result: {} }, frame.text.length);
      reply(frame);
    },
  };
}
