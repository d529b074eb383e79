/** Tools for clients: the visible members of a server's definition, and the target of a public name. */
import { isObject, type JsonObject, type ServerName, type TaskSupport, type ToolEntry } from '@omnibus/protocol';
import type { NamedEntry } from './names.ts';
import { shownSchema, wrapSchema } from './output-schema.ts';

/** Where a public name leads. */
export interface Route {
  readonly server: ServerName;
  readonly original: string;
  /** Arguments the operator fixed; they replace the client's. */
  readonly pinned?: JsonObject;
  /** Of a tool: its server says that calling it again does no more than calling it once. */
  readonly isRepeatable?: boolean;
  /** Of a tool: clients of older revisions see its output inside an object. */
  readonly wrapsOutput?: boolean;
  /** Of a tool: whether a page shows its results. */
  readonly hasPage?: boolean;
  /** Of a tool: arguments of its calls are repeated in headers (2026-07-28 basic/transports, Custom Headers). */
  readonly hasParameterHeaders?: boolean;
  /** Of a tool: whether it runs as a task. */
  readonly taskSupport?: TaskSupport;
  /** Hidden from clients: its definition waits to be approved, or a guardrail denies it. */
  readonly isHeld?: boolean;
  /** Why it is in no list: clients would refuse the list over it. */
  readonly unfit?: string;
  /** The guardrail that denies it. */
  readonly guardrail?: string | undefined;
}

export interface Named extends NamedEntry, Route {
  readonly server: ServerName;
  readonly entry: JsonObject;
  readonly isUp: boolean;
  /** Its server is of 2026-07-28. */
  readonly isModern: boolean;
  /** Its server takes calls as tasks. */
  readonly runsTasks?: boolean;
}

/** A tool as clients see it, under its public name. @param isModern they are of 2026-07-28. */
export function publicTool(
  { entry, pinned, wrapsOutput, runsTasks, isModern: isOfModern }: Named,
  name: string,
  isModern: boolean,
): JsonObject {
  const { execution, ...plain } = entry as ToolEntry;
  const output = isObject(plain['outputSchema']) ? shownSchema(plain['outputSchema']) : undefined;
  const shown =
    output === undefined
      ? plain
      : { ...plain, outputSchema: wrapsOutput === true && !isModern ? wrapSchema(output) : output };
  // 2026-07-28 has none; such a member of a server of that revision is passed on as an unknown one.
  const carried = isModern ? (isOfModern ? execution : undefined) : executionOf(execution, runsTasks === true);
  const tool = carried === undefined ? shown : { ...shown, execution: carried };
  return pinned === undefined
    ? { ...tool, name }
    : { ...tool, name, inputSchema: withoutArguments(tool['inputSchema'] as JsonObject, pinned) };
}

/** A client may take it that a tool runs as a task when any server of the endpoint takes tasks; that of one that takes none does not (2025-11-25 basic/utilities/tasks). */
function executionOf(execution: unknown, runsTasks: boolean): unknown {
  if (
    runsTasks ||
    !isObject(execution) ||
    (execution['taskSupport'] !== 'optional' && execution['taskSupport'] !== 'required')
  )
    return execution;
  const { taskSupport: _support, ...others } = execution;
  return Object.keys(others).length === 0 ? undefined : others;
}

export function taskSupportOf({ execution }: JsonObject): TaskSupport {
  const support = isObject(execution) ? execution['taskSupport'] : undefined;
  return support === 'optional' || support === 'required' ? support : 'forbidden';
}

/** Hints of the server (2025-03-26 server/tools, Tool Annotations). */
export function isRepeatable({ annotations }: JsonObject): boolean {
  return isObject(annotations) && (annotations['readOnlyHint'] === true || annotations['idempotentHint'] === true);
}

function withoutArguments(schema: JsonObject, pinned: JsonObject): JsonObject {
  const isFree = (name: string): boolean => !Object.hasOwn(pinned, name);
  const properties = Object.fromEntries(
    Object.entries(isObject(schema['properties']) ? schema['properties'] : {}).filter(([name]) => isFree(name)),
  );
  const required = Array.isArray(schema['required'])
    ? { required: (schema['required'] as unknown[]).filter((name) => typeof name !== 'string' || isFree(name)) }
    : {};
  return { ...schema, properties, ...required };
}
