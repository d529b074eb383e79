/** The annotations of a tool (hints), which count only where its server is believed. */
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { Hint } from './settings.ts';
import { both, verdictOf, type Verdict } from './verdict.ts';

/** Hints that are left out have the defaults of the specification (2025-06-18 schema, ToolAnnotations). */
const tests: Readonly<Record<Hint, (annotations: JsonObject) => boolean>> = {
  readOnly: ({ readOnlyHint }) => readOnlyHint === true,
  destructive: ({ readOnlyHint, destructiveHint }) => readOnlyHint !== true && destructiveHint !== false,
  nonDestructive: ({ readOnlyHint, destructiveHint }) => readOnlyHint === true || destructiveHint === false,
  idempotent: ({ readOnlyHint, idempotentHint }) => readOnlyHint === true || idempotentHint === true,
  openWorld: ({ openWorldHint }) => openWorldHint !== false,
  closedWorld: ({ openWorldHint }) => openWorldHint === false,
  writes: ({ readOnlyHint }) => readOnlyHint !== true,
};

/** @param annotations of the tool; undefined where its server is not believed. */
export function hintsVerdict(only: readonly Hint[], annotations: unknown): Verdict {
  if (annotations === undefined) return 'unknown';
  const said = isObject(annotations) ? annotations : {};
  return only.reduce<Verdict>((verdict, hint) => both(verdict, verdictOf(tests[hint](said))), 'yes');
}
