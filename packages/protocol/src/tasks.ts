/** Tasks in the messages of 2025-11-25 (basic/utilities/tasks, experimental). */
import { isObject, type JsonObject } from './json-rpc.ts';

/** How a tool can be called: `forbidden` as a plain call only, `required` as a task only. */
export type TaskSupport = 'forbidden' | 'optional' | 'required';

/** The key under `_meta` that relates a message to a task. */
const relatedTask = 'io.modelcontextprotocol/related-task';

const ended: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

/** Whether a task is in a final state. */
export function isEnded(task: JsonObject): boolean {
  return ended.has(task['status']);
}

/** Whether a server accepts `tools/call` as a task. */
export function servesTasks(capabilities: JsonObject): boolean {
  const { tasks } = capabilities;
  const requests = isObject(tasks) ? tasks['requests'] : undefined;
  const tools = isObject(requests) ? requests['tools'] : undefined;
  return isObject(tools) && isObject(tools['call']);
}

/** The task with which a call was answered; undefined for another result. */
export function createdTask(result: JsonObject): (JsonObject & { readonly taskId: string }) | undefined {
  const { task } = result;
  return isObject(task) && typeof task['taskId'] === 'string'
    ? (task as JsonObject & { readonly taskId: string })
    : undefined;
}

/** The id of the task to which parameters or a result belong. */
export function relatedTaskOf(value: JsonObject | undefined): string | undefined {
  const meta = value?.['_meta'];
  const related = isObject(meta) ? meta[relatedTask] : undefined;
  return isObject(related) && typeof related['taskId'] === 'string' ? related['taskId'] : undefined;
}

/** The same value, related to a task. */
export function relatedTo(taskId: string, value: JsonObject): JsonObject {
  const meta = isObject(value['_meta']) ? value['_meta'] : {};
  return { ...value, _meta: { ...meta, [relatedTask]: { taskId } } };
}

/** The same value with another task id; undefined removes the relation. */
export function withRelatedTask(value: JsonObject, map: (taskId: string) => string | undefined): JsonObject {
  const id = relatedTaskOf(value);
  if (id === undefined) return value;
  const { [relatedTask]: _mention, ...meta } = value['_meta'] as JsonObject;
  const mapped = map(id);
  return { ...value, _meta: mapped === undefined ? meta : { ...meta, [relatedTask]: { taskId: mapped } } };
}
