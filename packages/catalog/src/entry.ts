/** Valid entries of lists. An invalid entry is left out, with a report, rather than break the list. */
import {
  isObject,
  listKinds,
  parameterHeaders,
  type CatalogLists,
  type CatalogRecord,
  type JsonObject,
  type ListKind,
  type RepairCounts,
  type UnfitEntry,
} from '@omnibus/protocol';
import { unfitMember, unfitSchema } from './entry-fit.ts';
import { hasInnerId } from './output-schema.ts';
import { repairEntry } from './repair-entry.ts';

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

/** The member that identifies an entry of a list. */
export const identity: Record<ListKind, string> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
};

/** Globs of profiles are tried on names, and people and models read them. */
const maxNameLength = 1_024;
/** Characters of one entry as JSON, and of one list: every session worker stores it, and every client gets it. */
const maxEntryLength = 1024 * 1024;
const maxListLength = 64 * 1024 * 1024;
/** Bound on the report of left out entries; a bad list has thousands of them. */
const maxRejected = 100;
/** Characters of a name in an example of a repair. */
const maxShownName = 80;

export interface CheckedEntries<Kind extends ListKind> {
  readonly entries: CatalogLists[Kind];
  /** The left out entries with reasons; the first hundred. */
  readonly rejected: readonly UnfitEntry[];
}

/** Compiling takes time, so an unknown result is a promise. */
type OutputProblem = (schema: JsonObject) => Promise<string | undefined> | undefined;

export interface EntryChecks {
  readonly maxEntries: number;
  /** Counts repairs; undefined if there are none. */
  readonly repairs?: RepairCounts | undefined;
  /** Why clients cannot compile the `outputSchema` of a tool; undefined where they can. */
  readonly outputProblem?: OutputProblem;
  readonly maxLength?: number;
}

/** Keeps the sound entries of one list, the first of each identity, in the server's order. */
export async function checkEntries<Kind extends ListKind>(
  kind: Kind,
  values: readonly unknown[],
  { maxEntries, repairs, outputProblem, maxLength = maxListLength }: EntryChecks,
): Promise<CheckedEntries<Kind>> {
  const entries: JsonObject[] = [];
  const rejected: UnfitEntry[] = [];
  const seen = new Set<unknown>();
  let length = 0;
  for (const [index, value] of values.entries()) {
    let entry = repairs === undefined ? value : repaired(kind, value, index, repairs);
    const output = unusableOutput(kind, entry, outputProblem);
    const outputWords = typeof output === 'object' ? await output : output;
    if (outputWords !== undefined && repairs !== undefined)
      entry = withoutOutput(entry as JsonObject, outputWords, repairs);
    const problem = entryProblem(kind, entry, seen, outputWords);
    const text = problem === undefined ? entryText(entry as JsonObject) : { problem };
    if (typeof text !== 'string') {
      if (rejected.length < maxRejected) rejected.push({ kind, ...nameOf(kind, entry), problem: text.problem });
    } else if (entries.length === maxEntries || length + text.length > maxLength) {
      rejected.push({ kind, problem: `only the first ${entries.length} of ${values.length} are kept` });
      break;
    } else {
      length += text.length;
      entries.push(entry as JsonObject);
      seen.add((entry as JsonObject)[identity[kind]]);
    }
  }
  return { entries: entries as unknown as CatalogLists[Kind], rejected };
}

/** Whether a record has the shape of one, with lists of identifiable entries. */
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

/** An entry as JSON, or the reason why it is invalid: a reader of another process' catalogue cannot rely on its checks. */
export function entryText(entry: JsonObject): string | { readonly problem: string } {
  let text: string;
  try {
    text = JSON.stringify(entry);
  } catch (error) {
    return { problem: `it cannot be written as JSON: ${(error as Error).message}` };
  }
  return text.length > maxEntryLength ? { problem: `it is longer than ${maxEntryLength} characters` } : text;
}

/** @returns the value itself where there is nothing to repair. */
function repaired(kind: ListKind, value: unknown, index: number, repairs: RepairCounts): unknown {
  if (!isObject(value)) return value;
  return repairEntry(kind, value, (repair, member) =>
    repairs.note(repair, `${shownName(kind, value) ?? `${kind}[${index}]`}: ${member}`),
  );
}

/** Why clients cannot use the output schema of a tool; undefined where they can, or where there is none. */
function unusableOutput(
  kind: ListKind,
  entry: unknown,
  outputProblem: OutputProblem | undefined,
): Promise<string | undefined> | string | undefined {
  if (kind !== 'tools' || !isObject(entry)) return undefined;
  const { outputSchema: schema } = entry;
  if (schema === undefined) return undefined;
  if (!isObject(schema)) return 'it is not an object';
  if (hasInnerId(schema)) return 'a part of it has an "$id", which clients confuse with those of other servers';
  return unfitSchema(schema) ?? outputProblem?.(schema);
}

function withoutOutput(entry: JsonObject, problem: string, repairs: RepairCounts): JsonObject {
  const { outputSchema: _dropped, ...rest } = entry;
  repairs.note('output-schema', `${shownName('tools', entry) ?? 'tools'}: ${problem}`);
  return rest;
}

function shownName(kind: ListKind, entry: JsonObject): string | undefined {
  const name = entry[identity[kind]];
  return typeof name === 'string' ? `${kind} ${JSON.stringify(name.slice(0, maxShownName))}` : undefined;
}

/** The identity of an entry that is left out, where it has one. */
function nameOf(kind: ListKind, entry: unknown): { readonly name?: string } {
  const name = isObject(entry) ? entry[identity[kind]] : undefined;
  return typeof name === 'string' && name !== '' && name.length <= maxNameLength ? { name } : {};
}

function entryProblem(
  kind: ListKind,
  value: unknown,
  seen: ReadonlySet<unknown>,
  outputProblem: string | undefined,
): string | undefined {
  if (!isObject(value)) return 'not an object';
  for (const [field, type] of required[kind]) {
    const fits = type === 'string' ? typeof value[field] === 'string' && value[field] !== '' : isObject(value[field]);
    if (!fits) return `"${field}" must be ${type === 'string' ? 'a non-empty string' : 'an object'}`;
  }
  if (kind === 'tools') {
    // The arguments of a call are an object (server/tools, Tool; schema, `Tool.inputSchema.type`), and SDKs refuse a whole list over it.
    if ((value['inputSchema'] as JsonObject)['type'] !== 'object') return '"inputSchema" must be of type "object"';
    // The gateway could not make its calls as the server requires (2026-07-28 server/tools, x-mcp-header).
    const headers = parameterHeaders(value['inputSchema'] as JsonObject);
    if ('problem' in headers) return headers.problem;
    if (outputProblem !== undefined && value['outputSchema'] !== undefined)
      return `clients cannot use its "outputSchema": ${outputProblem}`;
  }
  const unfit = unfitMember(kind, value);
  if (unfit !== undefined) return unfit;
  const id = value[identity[kind]] as string;
  if ((kind === 'tools' || kind === 'prompts') && id.length > maxNameLength)
    return `its name is longer than ${maxNameLength} characters`;
  return seen.has(id) ? `a second entry with ${identity[kind]} ${JSON.stringify(id.slice(0, 200))}` : undefined;
}
