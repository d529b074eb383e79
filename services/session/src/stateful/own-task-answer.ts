/** Requests of a session about tasks that the gateway itself runs. */
import type { View } from '@omnibus/catalog';
import { ownServer, type JsonRpcRequest, type SessionTaskMethod, type SourceTool } from '@omnibus/protocol';
import { mayHaveResult } from '../call/may-have-result.ts';
import { cursorOf } from '../call/routes/list-page.ts';
import type { OwnTaskAnswer } from '../call/own-tasks.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { SessionParts } from './session-parts.ts';

/** @returns undefined if the request is for servers. */
export function ownTaskAnswer(
  { host: { ownTasks, barrier }, client, forwarding }: Pick<SessionParts, 'host' | 'client' | 'forwarding'>,
  method: SessionTaskMethod,
  { params = {} }: JsonRpcRequest,
  { stream, view }: { readonly stream: PostStream; readonly view: View },
): OwnTaskAnswer | undefined {
  if (ownTasks === undefined) return undefined;
  const { key, facts, asking } = client;
  const mayHave = (source: SourceTool): boolean => mayHaveResult({ view, facts, barrier }, source);
  if (method === 'tasks/list') {
    const tasks = cursorOf(params) === undefined ? ownTasks.list(key, mayHave) : [];
    if (tasks.length === 0) return undefined;
    // The gateway's own tasks are the first page, and those of servers follow.
    const [server] = view.taskServers();
    const more =
      server === undefined ? {} : { nextCursor: forwarding.tasks.publishCursor({ server, cursor: undefined }) };
    return { result: { tasks, ...more } };
  }
  const { taskId } = params;
  const task = typeof taskId === 'string' ? forwarding.tasks.open(taskId) : undefined;
  return task?.server === ownServer
    ? ownTasks.serve({ method, params, task, session: key, endpoint: asking.endpoint, mayHave, stream })
    : undefined;
}
