/** Composite tools of an endpoint: each is a declared sequence of calls of other tools. A caller sees one if it sees all tools of its steps. */
import type { JsonObject } from '@omnibus/protocol';

export interface CompositeTool {
  readonly name: string;
  /** The tool as clients see it. */
  readonly entry: JsonObject;
  /** The tools of its steps, `server/tool`. */
  readonly needs: readonly string[];
  /** Whether lists leave out the tools of its steps. */
  readonly hidesSteps: boolean;
}

/** The composite tools whose steps a list has. @param tools of the list, as `server/tool`. */
export function compositesWith(
  all: readonly CompositeTool[] | undefined,
  tools: () => ReadonlySet<string>,
): readonly CompositeTool[] {
  if (all === undefined || all.length === 0) return [];
  const offered = tools();
  return all.filter(({ needs }) => needs.every((key) => offered.has(key)));
}
