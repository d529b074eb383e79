/** Results of tasks of older servers, which clients of the tasks extension get with the state of the task: their sizes count for limits (`bytes`). */
import type { ExtensionTaskMethod, GatewayFault } from '@omnibus/protocol';
import type { CallFollower } from '../call/client-port.ts';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { PendingReply } from './pending-reply.ts';
import type { StatelessHost } from './stateless-host.ts';

/**
 * Serves a request about a task, unless the gate refuses it.
 * @property then.serve called with the request, whose answer the gate hears; at once if the gate need not wait.
 */
export function fetchWithin(
  { resultGate: gate }: Pick<StatelessHost, 'resultGate'>,
  waiter: PendingReply,
  method: ExtensionTaskMethod,
  task: TaskAddress,
  then: { readonly serve: (counted: PendingReply) => void; readonly refuse: (refused: GatewayFault) => void },
): void {
  const { server, tool } = task;
  if (gate === undefined || method !== 'tasks/get' || tool === undefined) {
    then.serve(waiter);
    return;
  }
  const goOn = (found: CallFollower | GatewayFault | undefined): void => {
    if (found !== undefined && 'reason' in found) then.refuse(found);
    else then.serve(found === undefined ? waiter : followed(found, waiter));
  };
  const begun = gate.begin(waiter.command.caller, server, tool);
  if (begun instanceof Promise) void begun.then(goOn);
  else goOn(begun);
}

function followed(follower: CallFollower, { command, reply }: PendingReply): PendingReply {
  return {
    command,
    reply: (frame) => {
      if (frame.kind === 'message' && frame.last) follower.answered({ kind: 'result', result: {} }, frame.text.length);
      reply(frame);
    },
  };
}
