/**
 * Labels of guardrails in messages. The key is the gateway's own (2025-11-25 basic, General fields: a key has the prefix of its owner), so a value that a
 * server sends under it is no label.
 */
import { isObject, type JsonObject, type JsonRpcErrorObject } from './json-rpc.ts';

/** Where labels stand: under `_meta` of a result, notification, question or entry of a list, and in the `data` of an error. */
export const labelsKey = 'omnibus.dev/guardrails';

/** Members in which a message carries what may become a message, an entry or an error for a client, so that labels could stand there. */
const carriers: ReadonlySet<string> = new Set([
  '_meta',
  'result',
  'error',
  'data',
  'params',
  'task',
  'tasks',
  'tools',
  'prompts',
  'resources',
  'resourceTemplates',
  'elicitations',
  'inputRequests',
]);
/** Members with messages as members of any name. */
const maps: ReadonlySet<string> = new Set(['inputRequests']);
/** The deepest place of a label is that of a question in the task of a notification (`params.task.inputRequests.KEY.params._meta`); no reader looks below. */
const maxDepth = 6;

/**
 * Removes forged labels of guardrails.
 * @param said the result, the error, or the parameters of a message.
 * @param depth of this part of a message.
 * @param isMap whether every member of this part is a message, whatever its name.
 * @returns the same object where there is nothing to take out, as in almost every message.
 */
export function withoutLabels<Said extends JsonObject | JsonRpcErrorObject>(
  said: Said,
  depth = 0,
  isMap = false,
): Said {
  const value = said as JsonObject;
  let made: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    if (name === labelsKey) {
      made ??= { ...value };
      delete made[name];
    } else if ((isMap || carriers.has(name)) && depth < maxDepth) {
      const before = value[name];
      const after = Array.isArray(before)
        ? items(before, depth + 1)
        : isObject(before)
          ? withoutLabels(before, depth + 1, maps.has(name))
          : before;
      if (after !== before) (made ??= { ...value })[name] = after;
    }
  }
  return (made ?? value) as Said;
}

function items(list: readonly unknown[], depth: number): readonly unknown[] {
  const made = list.map((item) => (isObject(item) ? withoutLabels(item, depth) : item));
  return made.every((item, index) => item === list[index]) ? list : made;
}
