/** Follows tasks with which calls were answered that hold places among running calls, and hears what answers say of tasks. */
import type { Barrier } from '../../call/barrier.ts';
import { shareOf } from '../../call/client-of.ts';
import type { CallWatcher, SentCall, WatchedCall } from '../../call/watchers.ts';
import { placeOf, progressKey, type TaskAddress } from '../../public-ids/task-ids.ts';
import { CallAccounting } from './call-gate.ts';
import { runningTask, type TaskPlaces } from './task-places.ts';

export function taskWatch(tasks: TaskPlaces, barrier: Barrier): CallWatcher {
  return {
    taskAnswered: ({ server, id, place }, method, outcome) =>
      tasks.heard(progressKey(server, id, place), method, outcome),
    sent: (sent) => {
      const {
        call: { method, followers },
        to: { server, task, kind },
      } = sent;
      const accounting =
        method === 'tools/call' && kind !== 'await-task'
          ? followers?.find((each): each is CallAccounting => each instanceof CallAccounting && each.holdsPlace)
          : undefined;
      if (task === undefined && accounting === undefined) return undefined;
      const watched: WatchedCall = {
        answering: (outcome) => {
          if (task !== undefined) tasks.heard(progressKey(server, task.id, task.place), method, outcome);
          if (accounting !== undefined) follow(tasks, barrier, sent, accounting, outcome);
        },
        ended: () => undefined,
      };
      return watched;
    },
  };
}

function follow(
  tasks: TaskPlaces,
  barrier: Barrier,
  { client, to: { server, tool }, sender }: SentCall,
  accounting: CallAccounting,
  outcome: Parameters<typeof runningTask>[0],
): void {
  const made = runningTask(outcome);
  if (made === undefined) return;
  const { taskId, everyMs, keptMs } = made;
  const address: TaskAddress = { server, id: taskId, owner: client.key, place: placeOf(outcome), tool };
  tasks.follow({
    key: progressKey(server, taskId, address.place),
    session: client.key,
    owner: shareOf(client.asking, client.facts),
    everyMs,
    keptMs,
    leave: accounting.runOn(),
    ask: (settled) => {
      const problem = barrier.problemOf(client.facts, server, tool);
      if (problem === undefined)
        sender.sendOwn(
          { method: 'tasks/get', server, params: { taskId }, subject: ['task', taskId], task: address },
          settled,
        );
      else settled({ kind: 'fault', fault: problem });
    },
  });
}
