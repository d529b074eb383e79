/** What a server may put into a list. An entry that does not fit is left out, and said to be, rather than break the list. */
import {
  isObject,
  listKinds,
  parameterHeaders,
  type CatalogLists,
  type CatalogRecord,
  type JsonObject,
  type ListKind,
} from '@omnibus/protocol';

const required: Record<ListKind, readonly (readonly [field: string, kind: 'string' | 'object'])[]> = {
  tools: [
    ['name', 'string'],
    ['inputSchema', 'object'],
  ],
  prompts: [['name', 'string']],
  resources: [
    ['uri', 'string'],
    ['name', 'string'],
  ],
  resourceTemplates: [
    ['uriTemplate', 'string'],
    ['name', 'string'],
  ],
};

/** The member by which entries of a list are told apart. */
export const identity: Record<ListKind, string> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
};

/** Globs of profiles are tried on names, and people and models read them. */
const maxNameLength = 1_024;
/** Characters of one entry as JSON, and of one list: it is held by every session worker, and sent to every client. */
const maxEntryLength = 1024 * 1024;
const maxListLength = 64 * 1024 * 1024;
/** What is said about entries that were left out; a bad list has thousands of them. */
const maxRejected = 100;

export interface CheckedEntries<Kind extends ListKind> {
  readonly entries: CatalogLists[Kind];
  /** What was left out and why, in words. */
  readonly rejected: readonly string[];
}

/** Keeps the sound entries of one list, the first of each identity, in the server's order. */
export function checkEntries<Kind extends ListKind>(
  kind: Kind,
  values: readonly unknown[],
  maxEntries: number,
  maxLength = maxListLength,
): CheckedEntries<Kind> {
  const entries: JsonObject[] = [];
  const rejected: string[] = [];
  const seen = new Set<unknown>();
  let length = 0;
  for (const [index, value] of values.entries()) {
    const problem = entryProblem(kind, value, seen);
    const text = problem === undefined ? entryText(value as JsonObject) : { problem };
    if (typeof text !== 'string') {
      if (rejected.length < maxRejected) rejected.push(`${kind}[${index}]: ${text.problem}`);
    } else if (entries.length === maxEntries || length + text.length > maxLength) {
      rejected.push(`${kind}: only the first ${entries.length} of ${values.length} are kept`);
      break;
    } else {
      length += text.length;
      entries.push(value as JsonObject);
      seen.add((value as JsonObject)[identity[kind]]);
    }
  }
  return { entries: entries as unknown as CatalogLists[Kind], rejected };
}

/** Whether a record has the shape of one, with lists whose entries can be told apart. */
export function isSoundRecord({ capabilities, lists, announcements }: CatalogRecord): boolean {
  const isSoundList = (kind: ListKind, list: unknown): boolean =>
    Array.isArray(list) && list.every((entry) => isObject(entry) && typeof entry[identity[kind]] === 'string');
  return (
    isObject(capabilities) &&
    isObject(lists) &&
    isObject(announcements) &&
    listKinds.every((kind) => isSoundList(kind, lists[kind]))
  );
}

/** An entry as JSON, or why it cannot be shown: whoever reads the catalogue of another process does not know who checked it. */
export function entryText(entry: JsonObject): string | { readonly problem: string } {
  let text: string;
  try {
    text = JSON.stringify(entry);
  } catch (error) {
    return { problem: `it cannot be written as JSON: ${(error as Error).message}` };
  }
  return text.length > maxEntryLength ? { problem: `it is longer than ${maxEntryLength} characters` } : text;
}

function entryProblem(kind: ListKind, value: unknown, seen: ReadonlySet<unknown>): string | undefined {
  if (!isObject(value)) return 'not an object';
  for (const [field, type] of required[kind]) {
    const fits = type === 'string' ? typeof value[field] === 'string' && value[field] !== '' : isObject(value[field]);
    if (!fits) return `"${field}" must be ${type === 'string' ? 'a non-empty string' : 'an object'}`;
  }
  if (kind === 'tools') {
    // The arguments of a call are an object (server/tools, Tool; schema, `Tool.inputSchema.type`), and SDKs refuse a whole list over it.
    if ((value['inputSchema'] as JsonObject)['type'] !== 'object') return '"inputSchema" must be of type "object"';
    // Its calls could not be made as its server wants them (2026-07-28 server/tools, x-mcp-header).
    const headers = parameterHeaders(value['inputSchema'] as JsonObject);
    if ('problem' in headers) return headers.problem;
  }
  const id = value[identity[kind]] as string;
  if ((kind === 'tools' || kind === 'prompts') && id.length > maxNameLength)
    return `its name is longer than ${maxNameLength} characters`;
  return seen.has(id) ? `a second entry with ${identity[kind]} ${JSON.stringify(id.slice(0, 200))}` : undefined;
}
