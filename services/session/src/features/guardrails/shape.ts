/** Invariants of a change by a guardrail: repeated contents of a result stay equal, and fit the tool's output schema. */
import type { SchemaProblem } from '@omnibus/policy';
import { canonical, isObject, parseJson, type JsonObject } from '@omnibus/protocol';

/**
 * A tool with structured content repeats it as a text (2025-11-25 server/tools, Structured Content). Where it did before a change, it does after it: what
 * was changed in one is changed in the other.
 * @returns undefined when the two cannot be brought together.
 */
export function consistent(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const { structuredContent: was, content: blocks } = before;
  const { structuredContent: is, content: changed } = after;
  if (was === undefined || !Array.isArray(blocks) || !Array.isArray(changed) || blocks.length !== changed.length)
    return after;
  const written = canonical(was);
  const repeats = blocks.map(
    (block: unknown) => isObject(block) && block['type'] === 'text' && jsonOf(block['text'])?.written === written,
  );
  if (!repeats.includes(true)) return after;
  if (canonical(is) !== written) {
    return {
      ...after,
      content: changed.map((block: unknown, index) =>
        repeats[index] === true && isObject(block) ? { ...block, text: JSON.stringify(is) } : block,
      ),
    };
  }
  const other = changed.find(
    (block: unknown, index) =>
      repeats[index] === true && !(isObject(block) && jsonOf(block['text'])?.written === written),
  ) as unknown;
  if (other === undefined) return after;
  const said = isObject(other) ? jsonOf(other['text']) : undefined;
  return said === undefined ? undefined : { ...after, structuredContent: said.value };
}

/** @returns undefined for a text that is no JSON object or list. */
function jsonOf(text: unknown): { readonly value: unknown; readonly written: string } | undefined {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return undefined;
  try {
    const value = parseJson(text);
    return { value, written: canonical(value) };
  } catch {
    return undefined; // A text that begins like JSON and is none.
  }
}

/** Why a changed result is not what its tool promises (2025-11-25 server/tools, Output Schema); undefined where it is. @param entry the tool as its server describes it. */
export function promiseProblem(
  result: JsonObject,
  entry: JsonObject | undefined,
  schemaProblem: SchemaProblem,
): string | undefined {
  const schema = entry?.['outputSchema'];
  if (!isObject(schema) || result['isError'] === true || result['structuredContent'] === undefined) return undefined;
  return schemaProblem(schema, result['structuredContent']);
}

/** Members that define the kind of a message, which no guardrail may change. */
const fixed: ReadonlySet<string> = new Set([
  'name',
  'uri',
  'uriTemplate',
  'ref',
  'taskId',
  'task',
  'cursor',
  'nextCursor',
  'requestState',
  'resultType',
  'inputRequests',
  'level',
  'mode',
  'url',
  'elicitationId',
  'requestedSchema',
  'isError',
  'action',
  'status',
]);
/** Lists of parts of a result, and what each part must have. */
const parts: Readonly<Record<string, string>> = { content: 'type', contents: 'uri', messages: 'role' };

/** Why an externally changed message is not one of its kind. */
export function changeProblem(before: JsonObject, after: JsonObject): string | undefined {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[name], after[name]];
    if (was === is) continue;
    if (fixed.has(name)) {
      if (canonical(was ?? null) !== canonical(is ?? null)) return `it changes ${JSON.stringify(name)}`;
    } else if (was !== undefined && is !== undefined && kindOf(was) !== kindOf(is))
      return `${JSON.stringify(name)} is of another type`;
    else if (was === undefined && name !== '_meta') return `it adds ${JSON.stringify(name)}`;
    else if (is === undefined && name in parts) return `${JSON.stringify(name)} is missing`;
    const needed = parts[name];
    if (
      needed !== undefined &&
      Array.isArray(is) &&
      is.some((part: unknown) => !isObject(part) || typeof part[needed] !== 'string')
    )
      return `${JSON.stringify(name)} has a part without ${JSON.stringify(needed)}`;
  }
  return undefined;
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'list' : value === null ? 'null' : isObject(value) ? 'object' : typeof value;
}
