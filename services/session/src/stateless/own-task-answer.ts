/** Requests of 2026-07-28 about tasks that the gateway itself runs. The worker that runs the task answers; others name it to the edge. */
import type { View } from '@omnibus/catalog';
import { fault, type ExtensionTaskMethod, type GatewayFault } from '@omnibus/protocol';
import { mayHaveResult } from '../call/may-have-result.ts';
import { modernResult } from '../dialect/modern/encode.ts';
import { extensionTask } from '../dialect/modern/tasks.ts';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import { answerResult, type PendingReply } from './pending-reply.ts';
import type { StatelessHost } from './stateless-host.ts';

interface OwnTaskAsked {
  readonly waiter: PendingReply;
  readonly view: View;
  readonly method: ExtensionTaskMethod;
  readonly task: TaskAddress;
}

export function answerOwnTask(
  { ownTasks, barrier, factsOf }: Pick<StatelessHost, 'ownTasks' | 'barrier' | 'factsOf'>,
  { waiter, view, method, task }: OwnTaskAsked,
  deny: (gatewayFault: GatewayFault) => void,
): void {
  const { key, gone, request, caller } = waiter.command;
  const params = request.params ?? {};
  const reader = { view, facts: factsOf(caller), barrier };
  const made = ownTasks?.serve({
    method,
    params,
    task,
    session: undefined,
    endpoint: caller.endpoint,
    mayHave: (source) => mayHaveResult(reader, source),
    gone,
  });
  if (made !== undefined && 'result' in made)
    answerResult(waiter, modernResult(method, method === 'tasks/get' ? extensionTask(made.result) : made.result));
  else if (made !== undefined && 'elsewhere' in made)
    waiter.reply({ kind: 'elsewhere', worker: made.elsewhere, call: key });
  else deny(made !== undefined && 'fault' in made ? made.fault : fault('task.unknown'));
}
