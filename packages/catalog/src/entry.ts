/** What a server may put into a list. An entry that does not fit is left out, and said to be, rather than break the list. */
import { isObject, parameterHeaders, type CatalogLists, type JsonObject, type ListKind } from '@omnibus/protocol';

const required: Record<ListKind, readonly (readonly [field: string, kind: 'string' | 'object'])[]> = {
  tools: [['name', 'string'], ['inputSchema', 'object']],
  prompts: [['name', 'string']],
  resources: [['uri', 'string'], ['name', 'string']],
  resourceTemplates: [['uriTemplate', 'string'], ['name', 'string']],
};

const identity: Record<ListKind, string> = { tools: 'name', prompts: 'name', resources: 'uri', resourceTemplates: 'uriTemplate' };

export interface CheckedEntries<Kind extends ListKind> {
  readonly entries: CatalogLists[Kind];
  /** What was left out and why, in words. */
  readonly rejected: readonly string[];
}

/** Keeps the sound entries of one list, the first of each identity, in the server's order. */
export function checkEntries<Kind extends ListKind>(kind: Kind, values: readonly unknown[], maxEntries: number): CheckedEntries<Kind> {
  const entries: JsonObject[] = [];
  const rejected: string[] = [];
  const seen = new Set<unknown>();
  for (const [index, value] of values.entries()) {
    const problem = entryProblem(kind, value, seen);
    if (problem !== undefined) rejected.push(`${kind}[${index}]: ${problem}`);
    else if (entries.length === maxEntries) {
      rejected.push(`${kind}: only the first ${maxEntries} of ${values.length} are kept`);
      break;
    } else {
      entries.push(value as JsonObject);
      seen.add((value as JsonObject)[identity[kind]]);
    }
  }
  return { entries: entries as unknown as CatalogLists[Kind], rejected };
}

function entryProblem(kind: ListKind, value: unknown, seen: ReadonlySet<unknown>): string | undefined {
  if (!isObject(value)) return 'not an object';
  for (const [field, type] of required[kind]) {
    const fits = type === 'string' ? typeof value[field] === 'string' && value[field] !== '' : isObject(value[field]);
    if (!fits) return `"${field}" must be ${type === 'string' ? 'a non-empty string' : 'an object'}`;
  }
  if (kind === 'tools') {
    // Its calls could not be made as its server wants them (2026-07-28 server/tools, x-mcp-header).
    const headers = parameterHeaders(value['inputSchema'] as JsonObject);
    if ('problem' in headers) return headers.problem;
  }
  const id = value[identity[kind]];
  return seen.has(id) ? `a second entry with ${identity[kind]} ${JSON.stringify(id)}` : undefined;
}
