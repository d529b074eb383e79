import { subjects } from '@omnibus/bus';
import type { JsonObject } from '@omnibus/protocol';
import type { UpstreamConnection } from '../../connection/connection.ts';
import type { ServerFeature, ServerParts } from '../../feature.ts';
import { Tasks, taskSteps } from './tasks.ts';

/** The tasks that the server works on. */
export function tasks({ bus, server, pool }: ServerParts): ServerFeature {
  const known = new Tasks();
  const announce = (connection: UpstreamConnection, task: JsonObject): void => {
    const owner = known.status(connection, task);
    if (owner !== undefined)
      bus.publish(subjects.notices, {
        kind: 'task-status',
        server,
        task,
        place: connection.run.place,
        tool: owner.tool,
        sessions: [owner.session],
      });
  };
  return {
    name: 'tasks',
    step: taskSteps({ server, tasks: known, connections: pool, announce }),
    checks: { toolOf: (connection, task) => known.toolOf(connection, task) },
    hears: { 'notifications/tasks/status': announce },
    isNeeded: (connection) => known.areRunningOn(connection),
    strayProgress(connection, { token, ...progress }) {
      const task = known.byToken(connection, token);
      if (task?.wantsProgress === true)
        bus.publish(subjects.notices, {
          kind: 'task-progress',
          server,
          taskId: task.taskId,
          place: connection.run.place,
          tool: task.tool,
          progress: { kind: 'progress', ...progress },
          sessions: [task.session],
        });
      return task !== undefined;
    },
  };
}
