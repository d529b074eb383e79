/** The tools and prompts of an endpoint's servers under the names that clients use. */
import {
  isModernRevision,
  isObject,
  parameterHeaders,
  servesTasks,
  type CatalogRecord,
  type JsonObject,
} from '@omnibus/protocol';
import { coders, finders } from './finders.ts';
import { publicNames } from './names.ts';
import { needsWrapping } from './output-schema.ts';
import { pageUris } from './pages.ts';
import { isPrefixed, mayBeShort, toolFilter, type EndpointDefinition } from './profile.ts';
import { resultReader } from './result-bounds.ts';
import { isRepeatable, taskSupportOf, type Named } from './tools.ts';

/** By public name, in the endpoint's order. @param records of the endpoint's servers. */
export function namedTools(
  definition: EndpointDefinition,
  records: readonly CatalogRecord[],
): ReadonlyMap<string, Named> {
  const isShown = toolFilter(definition);
  // A tool's declaration about tasks is void when its server does not support any (2025-11-25 basic/utilities/tasks).
  const runningTasks = new Set(
    records.filter(({ capabilities }) => servesTasks(capabilities)).map(({ server }) => server),
  );
  const tools = named('tools', records)
    .filter(({ server, original }) => isShown(`${server}/${original}`))
    .map((tool) => {
      const pinned = definition.pin.get(`${tool.server}/${tool.original}`);
      const runsTasks = runningTasks.has(tool.server);
      const complete = {
        ...tool,
        taskSupport: runsTasks ? taskSupportOf(tool.entry) : ('forbidden' as const),
        runsTasks,
        wrapsOutput: needsWrapping(tool.entry['outputSchema']),
        isRepeatable: isRepeatable(tool.entry),
        hasPage: pageUris(tool.entry).length > 0,
        hasParameterHeaders: hasHeaders(tool.entry),
      };
      return pinned === undefined ? complete : { ...complete, pinned };
    });
  const { rename, nameLength } = definition;
  return publicNames(tools, isPrefixed(definition), rename, nameLength, reservedIn(definition));
}

/** Names of the gateway's own tools at an endpoint; undefined if it has none. */
function reservedIn({ listing, results, composites = [] }: EndpointDefinition): ReadonlySet<unknown> | undefined {
  const own = listing?.mode === 'code' ? coders : finders;
  const found = listing !== undefined && mayBeShort(listing) ? own.names : undefined;
  const more = [...(results === undefined ? [] : [resultReader.name]), ...composites.map(({ name }) => name)];
  return more.length === 0 ? found : new Set([...(found ?? []), ...more]);
}

/** By public name, in the endpoint's order. @param records of the endpoint's servers. */
export function namedPrompts(
  definition: EndpointDefinition,
  records: readonly CatalogRecord[],
): ReadonlyMap<string, Named> {
  return publicNames(named('prompts', records), isPrefixed(definition), new Map(), definition.nameLength);
}

function named(kind: 'tools' | 'prompts', records: readonly CatalogRecord[]): Named[] {
  return records.flatMap(({ server, held = [], unfit = [], lists, status, revision }) => {
    const isModern = isModernRevision(revision);
    const listed = lists[kind].map((entry) => ({
      server,
      original: entry.name,
      entry,
      isUp: status === 'up',
      isModern,
    }));
    const names = new Set(listed.map(({ original }) => original));
    // A withheld entry is hidden and keeps its name, so that names do not depend on approvals.
    const kept = held
      .filter((each) => each.kind === kind && !names.has(each.name))
      .map(({ name, guardrail }) => ({
        server,
        original: name,
        entry: heldEntry(name),
        isUp: false,
        isModern,
        isHeld: true,
        guardrail,
      }));
    for (const { original } of kept) names.add(original);
    // A call of a left out entry gets the reason.
    const leftOut = unfit.flatMap(({ kind: ofKind, name, problem }) => {
      if (ofKind !== kind || name === undefined || names.has(name)) return [];
      names.add(name);
      return [{ server, original: name, entry: heldEntry(name), isUp: false, isModern, unfit: problem }];
    });
    return [...listed, ...kept, ...leftOut];
  });
}

const heldEntry = (name: string): JsonObject & { readonly name: string } => ({ name, inputSchema: { type: 'object' } });

/** Whether a client must repeat arguments of a tool in headers. */
function hasHeaders({ inputSchema }: JsonObject): boolean {
  const headers = isObject(inputSchema) ? parameterHeaders(inputSchema) : [];
  return !('problem' in headers) && headers.length > 0;
}
