/** What `find_tools` and `describe_tools` answer: short texts for a model, from what the caller sees. */
import { finderNames, type OfferedTool, type View } from '@omnibus/catalog';
import { errorResult, isObject, parseJson, printable, textResult, type JsonObject } from '@omnibus/protocol';
import { maxQueryLength, parametersOf, type Meaning } from '@omnibus/search';
import type { Indexes, IndexedTools } from '../../call/tool-indexes.ts';

const usualLimit = 8;
const maxLimit = 50;
const maxNames = 20;
const maxNameLength = 256;
const maxDescription = 160;
const maxParameters = 12;
/** Characters; servers choose the names of parameters. */
const maxParameterName = 40;
const maxServers = 40;
/** Characters of definitions in one answer; a longer one is for a model with a larger window. */
const maxDescribed = 200_000;

/** @param meaningOf the meaning of the question for the tools of the caller; undefined: it is ranked by words. */
export function foundTools(
  indexes: Indexes,
  view: View,
  given: JsonObject,
  meaningOf: (indexed: IndexedTools) => Meaning | undefined = () => undefined,
): JsonObject {
  const { query, limit = usualLimit, server } = given;
  if (typeof query !== 'string' || query.trim() === '' || query.length > maxQueryLength)
    return errorResult(
      `${finderNames.find} needs "query": what the tool is to do, in at most ${maxQueryLength} characters.`,
    );
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1)
    return errorResult('"limit" must be a whole number from 1 to 50.');
  const { servers } = view.definition;
  if (server !== undefined && !servers.some((each) => each === server))
    return errorResult(`There is no server ${quoted(server)} here. Servers: ${listOf(servers)}.`);
  const indexed = indexes.of(view);
  const { tools, index } = indexed;
  const found = index
    .search(
      query,
      Math.min(limit, maxLimit),
      server === undefined ? undefined : (at) => tools[at]?.server === server,
      meaningOf(indexed),
    )
    .flatMap(({ index: at }) => tools[at] ?? []);
  const unread = unreadIn(view, indexed, server);
  if (found.length > 0) return textResult([...found.map((tool) => lineOf(view, tool)), ...unread].join('\n'));
  const searched = servers.filter((each) => (server ?? each) === each && tools.some((tool) => tool.server === each));
  return textResult(
    [
      `Nothing fits ${quoted(query)}. Searched servers: ${listOf(searched)}.`,
      ...unread,
      `Say it in other words, such as a verb and a thing${server === undefined ? '' : ', or leave out "server"'}.`,
    ].join('\n'),
  );
}

/** Servers of which no tool is known, with the reasons, as a line of an answer. */
function unreadIn(view: View, { tools }: IndexedTools, server: unknown): readonly string[] {
  const unread = view
    .missing('tools')
    .filter((each) => (server ?? each.server) === each.server && !tools.some((tool) => tool.server === each.server))
    .map((each) => `${each.server} (${each.problem})`);
  return unread.length === 0 ? [] : [`Not searched: ${listOf(unread)}.`];
}

function lineOf(view: View, tool: OfferedTool): string {
  const { publicName, entry } = tool;
  const { inputSchema, annotations, description, title } = entry;
  const required = isObject(inputSchema) && Array.isArray(inputSchema['required']) ? inputSchema['required'] : [];
  const names = parametersOf(inputSchema);
  const parameters = names
    .slice(0, maxParameters)
    .map(([name]) => `${printable(name, maxParameterName)}${required.includes(name) ? '*' : ''}`)
    .concat(names.length > maxParameters ? ['…'] : []);
  const hints = isObject(annotations) ? annotations : {};
  const notes = [
    ...(hints['readOnlyHint'] === true ? ['read-only'] : hints['destructiveHint'] === true ? ['destructive'] : []),
    ...(stateOf(view, tool) ?? []),
  ];
  const text = firstSentence(typeof description === 'string' ? description : typeof title === 'string' ? title : '');
  return `${publicName}(${parameters.join(', ')})${notes.map((note) => ` [${note}]`).join('')}${text === '' ? '' : `: ${text}`}`;
}

/** Why a call would be refused now. */
function stateOf(view: View, { server, isUp, isHeld, unfit }: OfferedTool): readonly string[] | undefined {
  if (isHeld) return ['held back until its definition is approved'];
  if (unfit !== undefined) return [`left out: ${unfit}`];
  return isUp ? undefined : [`server not available: ${view.record(server)?.problem ?? 'it is not connected'}`];
}

function firstSentence(text: string): string {
  const [line = ''] = text.trim().split('\n', 1);
  const end = /[.!?](?=\s)/.exec(line);
  const sentence = end === null ? line : line.slice(0, end.index);
  return sentence.length <= maxDescription ? sentence : `${sentence.slice(0, maxDescription)}…`;
}

export function describedTools(indexes: Indexes, view: View, given: JsonObject, takesAnyOutput: boolean): JsonObject {
  const { names: wanted } = given;
  const names: readonly unknown[] = typeof wanted === 'string' ? [wanted] : Array.isArray(wanted) ? wanted : [];
  if (names.length === 0 || names.length > maxNames || !names.every(isName))
    return errorResult(`${finderNames.describe} needs "names": 1 to ${maxNames} names that ${finderNames.find} found.`);
  const shown = new Map([
    ...view.lists.entries('tools', takesAnyOutput).map(({ publicName, text }) => [publicName, text] as const),
    ...view.compositeTools().map(({ publicName, entry }) => [publicName, JSON.stringify(entry)] as const),
  ]);
  const { tools } = indexes.of(view);
  let left = maxDescribed;
  const texts = names.map((name) => {
    const text = shown.get(name);
    if (text !== undefined && text.length > left)
      return `${name}: its definition is too large for this answer; ask for it alone.`;
    if (text !== undefined) {
      left -= text.length;
      return definitionOf(text);
    }
    const tool = tools.find(({ publicName }) => publicName === name);
    return tool === undefined
      ? `There is no tool ${quoted(name)} here. ${finderNames.find} finds names.`
      : `${name}: ${stateOf(view, tool)?.join(', ') ?? 'not listed'}`;
  });
  return textResult(texts.join('\n'));
}

/** A definition without members that say nothing to a model. */
function definitionOf(text: string): string {
  const { _meta, icons: _icons, ...tool } = parseJson(text) as JsonObject;
  return JSON.stringify(tool);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameLength;
}

function quoted(value: unknown): string {
  return JSON.stringify(typeof value === 'string' ? printable(value, 100) : value);
}

function listOf(texts: readonly string[]): string {
  if (texts.length === 0) return 'none';
  const more = texts.length - maxServers;
  return texts.slice(0, maxServers).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
