/** What `find_api` answers: the TypeScript signatures of the functions that fit, from what the caller sees. */
import { coderNames, type View } from '@omnibus/catalog';
import { errorResult, isObject, printable, textResult, type JsonObject } from '@omnibus/protocol';
import { maxQueryLength } from '@omnibus/search';
import type { Indexes } from '../../call/tool-indexes.ts';
import { ScriptFunctions, type ScriptFunction } from './names.ts';
import { typeOf } from './types.ts';

const usualLimit = 8;
const maxLimit = 50;
const maxDescription = 200;
/** Characters of one answer. */
const maxAnswer = 60_000;

export function foundFunctions(indexes: Indexes, view: View, given: JsonObject): JsonObject {
  const { query, limit = usualLimit, server } = given;
  if (typeof query !== 'string' || query.trim() === '' || query.length > maxQueryLength)
    return errorResult(
      `${coderNames.find} needs "query": what the code is to do, in at most ${maxQueryLength} characters.`,
    );
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1)
    return errorResult('"limit" must be a whole number from 1 to 50.');
  if (server !== undefined && typeof server !== 'string') return errorResult('"server" must be the name of a server.');
  const functions = ScriptFunctions.of(view).all;
  const isWanted = (each: ScriptFunction | undefined): boolean =>
    server === undefined || each?.server === server || each?.offered.server === server;
  if (!functions.some(isWanted))
    return errorResult(
      `There is no server ${JSON.stringify(printable(server ?? '', 100))} here. Servers: ${serversIn(functions)}.`,
    );
  const { tools, index } = indexes.of(view);
  const byName = new Map(functions.map((each) => [each.offered.publicName, each]));
  const functionAt = (at: number): ScriptFunction | undefined => byName.get(tools[at]?.publicName ?? '');
  const found = index
    .search(query, Math.min(limit, maxLimit), (at) => isWanted(functionAt(at)))
    .flatMap(({ index: at }) => functionAt(at) ?? []);
  const missing = view.missing('tools').map((each) => `${each.server} (${each.problem})`);
  const notes = missing.length === 0 ? [] : [`// Not available: ${missing.slice(0, 40).join(', ')}`];
  if (found.length === 0)
    return textResult(
      [
        `Nothing fits. Servers: ${serversIn(functions)}. Say it in other words, such as a verb and a thing.`,
        ...notes,
      ].join('\n'),
    );
  return textResult(within([...found.map(signatureOf), ...notes]));
}

function within(lines: readonly string[]): string {
  let left = maxAnswer;
  const shown = lines.filter((line) => {
    left -= line.length;
    return left >= 0;
  });
  const more = lines.length - shown.length;
  return [
    ...shown,
    ...(more === 0 ? [] : [`// ${more} more are too long for this answer: use a smaller "limit"`]),
  ].join('\n');
}

function serversIn(functions: readonly ScriptFunction[]): string {
  const names = [...new Set(functions.map(({ server }) => server))];
  return names.slice(0, 40).join(', ') + (names.length > 40 ? ` and ${names.length - 40} more` : '');
}

/** @returns a comment and the signature. */
function signatureOf({ server, tool, offered }: ScriptFunction): string {
  const { entry, isUp, isHeld, unfit } = offered;
  const { description, title, inputSchema, outputSchema, annotations } = entry;
  const hints = isObject(annotations) ? annotations : {};
  const notes = [
    ...(hints['readOnlyHint'] === true ? ['read-only'] : hints['destructiveHint'] === true ? ['destructive'] : []),
    ...(isHeld ? ['held back until its definition is approved'] : unfit !== undefined ? ['left out'] : []),
    ...(isUp || isHeld ? [] : ['server not available']),
  ];
  const said = [description, title].find((each) => typeof each === 'string') ?? '';
  const [line = ''] = said.trim().split('\n', 1);
  const text = line.length > maxDescription ? `${line.slice(0, maxDescription)}…` : line;
  const comment = [...notes.map((note) => `[${note}]`), ...(text === '' ? [] : [text.replaceAll('*/', '')])].join(' ');
  const result = outputSchema === undefined ? 'any' : typeOf(outputSchema);
  const args = typeOf(inputSchema);
  const given = args === 'Record<string, unknown>' ? `args?: ${args}` : `args: ${args}`;
  return `${comment === '' ? '' : `/** ${comment} */\n`}servers.${server}.${tool}(${given}): Promise<${result}>`;
}
