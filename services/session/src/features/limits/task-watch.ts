/** Follows tasks with which calls were answered that hold places among running calls, and hears what answers say of tasks. */
import type { Barrier } from '../../call/barrier.ts';
import { shareOf } from '../../call/client-of.ts';
import type { CallWatcher, SentCall, WatchedCall } from '../../call/watchers.ts';
import { placeOf, progressKey, type TaskAddress } from '../../public-ids/task-ids.ts';
import { CallAccounting } from './call-gate.ts';
import type { Charge } from './charge.ts';
import { runningTask, type FollowedTask, type TaskPlaces } from './task-places.ts';

export function taskWatch(tasks: TaskPlaces, barrier: Barrier): CallWatcher {
  return {
    taskAnswered: ({ server, id, place }, method, outcome) =>
      tasks.heard(progressKey(server, id, place), method, outcome),
    sent: (sent) => {
      const {
        call: { method, followers },
        to: { server, task, kind },
      } = sent;
      let charge: Charge | undefined;
      if (method === 'tools/call' && kind !== 'await-task')
        for (const each of followers ?? [])
          if (each instanceof CallAccounting && each.charge?.holdsPlace === true) charge ??= each.charge;
      if (task === undefined && charge === undefined) return undefined;
      const watched: WatchedCall = {
        answering: (outcome) => {
          if (task !== undefined) tasks.heard(progressKey(server, task.id, task.place), method, outcome);
          const made = charge === undefined ? undefined : runningTask(outcome);
          if (charge !== undefined && made !== undefined) {
            const address: TaskAddress = {
              server,
              id: made.taskId,
              owner: sent.client.key,
              place: placeOf(outcome),
              tool: sent.to.tool,
            };
            follow(tasks, barrier, sent, address, { ...made, leave: charge.runOn() });
          }
        },
      };
      return watched;
    },
  };
}

function follow(
  tasks: TaskPlaces,
  barrier: Barrier,
  { client, to: { server, tool }, sender }: SentCall,
  address: TaskAddress,
  made: Pick<FollowedTask, 'everyMs' | 'keptMs' | 'leave'>,
): void {
  const { id } = address;
  tasks.follow({
    ...made,
    key: progressKey(server, id, address.place),
    session: client.key,
    owner: shareOf(client.asking, client.facts),
    ask: (settled) => {
      const problem = barrier.problemOf(client.facts, server, tool);
      if (problem === undefined)
        sender.sendOwn(
          { method: 'tasks/get', server, params: { taskId: id }, subject: ['task', id], task: address },
          settled,
        );
      else settled({ kind: 'fault', fault: problem });
    },
  });
}
