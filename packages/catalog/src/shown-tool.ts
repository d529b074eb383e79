/** A tool as the clients of one endpoint see it: under its public name, with the operator's words, and without characters that say nothing. */
import { ownServer, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { CompositeTool } from './composites.ts';
import type { EndpointDefinition } from './profile.ts';
import { hidesOutputSchema } from './result-bounds.ts';
import { slimTool } from './slim.ts';
import { publicTool, type Named } from './tools.ts';

/** @param isModern the clients are of 2026-07-28. */
export function shownTool(
  { listing, results }: Pick<EndpointDefinition, 'listing' | 'results'>,
  tool: Named,
  name: string,
  isModern: boolean,
): JsonObject {
  const whole = publicTool(tool, name, isModern);
  const shown =
    results !== undefined && hidesOutputSchema(results, tool.server, tool.original) ? withoutOutput(whole) : whole;
  if (listing === undefined) return shown;
  const description = listing.descriptions.get(`${tool.server}/${tool.original}`);
  const described = description === undefined || tool.isHeld === true ? shown : { ...shown, description };
  return listing.isSlim ? slimTool(described) : described;
}

function withoutOutput({ outputSchema: _schema, ...tool }: JsonObject): JsonObject {
  return tool;
}

/** A tool as a caller finds it. */
export interface OfferedTool {
  readonly server: ServerName;
  /** The server's own name. */
  readonly original: string;
  readonly publicName: string;
  /** As a client of 2026-07-28 is shown it. */
  readonly entry: JsonObject;
  readonly isUp: boolean;
  /** Its definition waits to be approved, or a guardrail denies it. */
  readonly isHeld: boolean;
  /** Why it is in no list: clients would refuse the list over it. */
  readonly unfit: string | undefined;
}

export function offeredTool(
  definition: Pick<EndpointDefinition, 'listing' | 'results'>,
  tool: Named,
  publicName: string,
): OfferedTool {
  const { server, original, isUp, isHeld = false, unfit } = tool;
  return { server, original, publicName, entry: shownTool(definition, tool, publicName, true), isUp, isHeld, unfit };
}

/** Composite tools as a caller finds them. @param seen names of those that the caller sees. */
export function offeredComposites(
  all: readonly CompositeTool[] = [],
  seen: ReadonlySet<string> | undefined,
): readonly OfferedTool[] {
  return all.flatMap(({ name, entry }) =>
    seen?.has(name) === true
      ? [{ server: ownServer, original: name, publicName: name, entry, isUp: true, isHeld: false, unfit: undefined }]
      : [],
  );
}

/** The tools that a search finds. @param inside steps that composite tools hide, as `server/tool`. */
export function searchedWith(
  composites: readonly OfferedTool[],
  others: readonly OfferedTool[],
  inside: ReadonlySet<string> | undefined,
): readonly OfferedTool[] {
  const found =
    inside === undefined || inside.size === 0
      ? others
      : others.filter(({ server, original }) => !inside.has(`${server}/${original}`));
  return composites.length === 0 ? found : [...composites, ...found];
}
