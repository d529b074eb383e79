/** What a tool says of itself, and what that is worth: nothing where nobody vouches for its server. */
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { Hint } from './settings.ts';
import { both, verdictOf, type Verdict } from './verdict.ts';

/** What is not said has the meaning that the specification gives it (2025-06-18 schema, ToolAnnotations). */
const tests: Readonly<Record<Hint, (annotations: JsonObject) => boolean>> = {
  readOnly: ({ readOnlyHint }) => readOnlyHint === true,
  destructive: ({ readOnlyHint, destructiveHint }) => readOnlyHint !== true && destructiveHint !== false,
  nonDestructive: ({ readOnlyHint, destructiveHint }) => readOnlyHint === true || destructiveHint === false,
  idempotent: ({ readOnlyHint, idempotentHint }) => readOnlyHint === true || idempotentHint === true,
  openWorld: ({ openWorldHint }) => openWorldHint !== false,
  closedWorld: ({ openWorldHint }) => openWorldHint === false,
};

/** @param annotations of the tool; undefined where its word does not count. */
export function hintsVerdict(only: readonly Hint[], annotations: unknown): Verdict {
  if (annotations === undefined) return 'unknown';
  const said = isObject(annotations) ? annotations : {};
  return only.reduce<Verdict>((verdict, hint) => both(verdict, verdictOf(tests[hint](said))), 'yes');
}
