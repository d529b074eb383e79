/**
 * Suspicious tools among those of several servers, for a person that decides whether to trust them: tools that speak of tools of
 * other servers, names that are the same or look the same, and schemas that are costly to read. It is an indication, and holds nothing back.
 */
import { isObject, type JsonObject } from '@omnibus/protocol';
import { entryDigest } from './facets.ts';
import { schemaFindings } from './schema-cost.ts';

/** One finding about a tool. */
export interface Suspicion {
  readonly kind: 'shadowing' | 'look-alike' | 'schema';
  /** The server's own name of the tool. */
  readonly name: string;
  readonly text: string;
  readonly other?: { readonly server: string; readonly name: string };
}

export interface ToolsOfServer {
  readonly server: string;
  readonly tools: readonly (JsonObject & { readonly name: string })[];
  /** Names of further tools, which clients are not shown. */
  readonly held?: readonly string[];
}

/** Bound on reported findings of one server. */
const maxFindings = 100;
/** Characters of the texts of one tool that are searched for names of other tools. */
const maxText = 20_000;
/** Letters of other scripts, and digits, that look like Latin letters: the frequent ones of UTS 39's confusables. */
const looksLike: Readonly<Record<string, string>> = Object.fromEntries([
  ...Array.from('аеорсухіјѕһԁԛԝѵгпкмтв').map((letter, index) => [letter, 'aeopcyxijshdqwvrnkmtb'[index] as string]),
  ...Array.from('αοενικρτυχω').map((letter, index) => [letter, 'aoevikptuxw'[index] as string]),
  ['0', 'o'],
  ['1', 'l'],
  ['i', 'l'],
  ['ı', 'l'],
  ['|', 'l'],
]);
/** A name that is no word of a language, and so is meant where a text has it. */
const isTelling = (name: string): boolean => name.length >= 5 && (/[_\-.\d]/.test(name) || /[a-z][A-Z]/.test(name));

/** Findings in a list of tools without a look at others. */
interface Looked {
  readonly own: readonly Suspicion[];
  /** By tool, the words of its texts that may be names of tools. */
  readonly words: ReadonlyMap<string, ReadonlySet<string>>;
}
const known = new WeakMap<ToolsOfServer['tools'], Looked>();

/** One tool; without its definition where clients are not shown it. */
interface Place {
  readonly server: string;
  readonly name: string;
  readonly tool?: JsonObject;
}

/** The last result: ten thousand tools take a tenth of a second, and an open page asks again every few seconds. */
let last: { readonly of: readonly unknown[]; readonly found: ReadonlyMap<string, readonly Suspicion[]> } | undefined;

/** @returns findings by server; a server without any is left out. The same lists are not looked at twice. */
export function suspicious(all: readonly ToolsOfServer[]): ReadonlyMap<string, readonly Suspicion[]> {
  const of = all.flatMap(({ server, tools, held = [] }) => [server, tools, held.join('\n')]);
  if (last?.of.length !== of.length || last.of.some((each, index) => each !== of[index]))
    last = { of, found: lookedFor(all) };
  return last.found;
}

function lookedFor(all: readonly ToolsOfServer[]): ReadonlyMap<string, readonly Suspicion[]> {
  const placesOf = ({ server, tools, held = [] }: ToolsOfServer): Place[] => [
    ...tools.map((tool) => ({ server, name: tool.name, tool })),
    ...held.map((name) => ({ server, name })),
  ];
  const places = all.flatMap(placesOf);
  const byName = Map.groupBy(places, ({ name }) => name);
  const byLook = Map.groupBy(places, ({ name }) => skeleton(name));
  return new Map(
    all.flatMap((each) => {
      const { server, tools } = each;
      const { own, words } = lookedAt(tools);
      const beside = placesOf(each).flatMap((place) => [
        ...namesake(place, byName.get(place.name) ?? []),
        ...lookAlike(place, byLook.get(skeleton(place.name)) ?? []),
        ...spokenOf(place, words.get(place.name) ?? new Set(), byName),
      ]);
      const found = [...beside, ...own].slice(0, maxFindings);
      return found.length === 0 ? [] : [[server, found] as const];
    }),
  );
}

/** Of two connections to servers of one kind, each tool is the same: that is ordinary. */
function namesake({ server, name, tool }: Place, places: readonly Place[]): Suspicion[] {
  const other = places.find(
    (each) =>
      each.server !== server &&
      (tool === undefined || each.tool === undefined || entryDigest(tool) !== entryDigest(each.tool)),
  );
  return other === undefined
    ? []
    : [
        {
          kind: 'shadowing',
          name,
          text: `server ${other.server} has another tool of the same name: a model may take one for the other`,
          other: { server: other.server, name },
        },
      ];
}

function lookAlike({ server, name }: Place, places: readonly Place[]): Suspicion[] {
  const other = places.find((each) => each.name !== name);
  const scripts = /\p{Script=Latin}/u.test(name) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(name);
  return [
    ...(other === undefined
      ? []
      : [
          {
            kind: 'look-alike' as const,
            name,
            text: `its name looks like ${JSON.stringify(other.name)} of ${other.server === server ? 'the same server' : `server ${other.server}`}`,
            other: { server: other.server, name: other.name },
          },
        ]),
    ...(scripts ? [{ kind: 'look-alike' as const, name, text: 'its name has letters of several scripts' }] : []),
  ];
}

function spokenOf(
  { server, name }: Place,
  words: ReadonlySet<string>,
  byName: ReadonlyMap<string, readonly Place[]>,
): Suspicion[] {
  return [...words].flatMap((word) => {
    const places = byName.get(word) ?? [];
    const other = places.find((each) => each.server !== server);
    return other === undefined || places.some((each) => each.server === server)
      ? []
      : [
          {
            kind: 'shadowing' as const,
            name,
            text: `its texts speak of ${word} of server ${other.server}`,
            other: { server: other.server, name: word },
          },
        ];
  });
}

function lookedAt(tools: ToolsOfServer['tools']): Looked {
  const before = known.get(tools);
  if (before !== undefined) return before;
  const own = tools.flatMap(({ name, inputSchema, outputSchema }) =>
    [
      ['takes', inputSchema],
      ['gives', outputSchema],
    ].flatMap(([what, schema]) =>
      isObject(schema)
        ? schemaFindings(schema).map((text): Suspicion => ({
            kind: 'schema',
            name,
            text: `the schema of what it ${String(what)}: ${text}`,
          }))
        : [],
    ),
  );
  const words = new Map(tools.map((tool) => [tool.name, wordsOf(tool)]));
  const looked = { own, words };
  known.set(tools, looked);
  return looked;
}

/** Words of a tool's descriptions that may be names of tools; its own name is none. */
function wordsOf(tool: JsonObject & { readonly name: string }): ReadonlySet<string> {
  let left = maxText;
  const found = new Set<string>();
  const look = (value: unknown, depth: number): void => {
    if (!isObject(value) && !Array.isArray(value)) return;
    for (const [key, each] of Object.entries(value)) {
      if (left <= 0 || depth > 12) return;
      if (typeof each !== 'string') look(each, depth + 1);
      else if (key === 'description' || key === 'title') {
        for (const word of each.slice(0, left).match(/[\p{L}\p{N}_][\p{L}\p{N}_.-]*[\p{L}\p{N}_]/gu) ?? [])
          if (isTelling(word) && word !== tool.name) found.add(word);
        left -= each.length;
      }
    }
  };
  look(tool, 0);
  return found;
}

/** Names that people take for each other have the same one. */
function skeleton(name: string): string {
  return Array.from(
    name
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/[\p{Cf}\p{M}_\-.\s]/gu, ''),
  )
    .map((letter) => looksLike[letter] ?? letter)
    .join('')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');
}
