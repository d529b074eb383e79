/** The cost of the tools of an endpoint for a model in each conversation, and the savings of each measure against it. */
import type { JsonObject } from '@omnibus/protocol';
import { coders, finders } from './finders.ts';
import { resultReader } from './result-bounds.ts';
import { tokensOf } from './short-tools.ts';
import { measures, slimTool, type Measure } from './slim.ts';
import type { View } from './view.ts';

/** Tokens of tools, counted as characters / 4. */
interface TokenCost {
  readonly tools: number;
  readonly tokens: number;
  /** With `listing: { slim: true }`. */
  readonly slim: number;
}

export interface TokenCosts {
  /** By server, or of one server by tool; the most expensive first. */
  readonly rows: readonly (TokenCost & { readonly name: string })[];
  /** Rows that are left out, and their sum; undefined if all are there. */
  readonly others?: TokenCost & { readonly rows: number };
  readonly total: TokenCost;
  /** Saved by each measure of `slim` alone, with the characters that it leaves out in words. */
  readonly savings: readonly { readonly measure: Measure; readonly what: string; readonly tokens: number }[];
  /** Of the list with `listing: search`. */
  readonly search: number;
  /** Of the list with `listing: code`. */
  readonly code: number;
  /** Of the whole list with a bound on all results: without output schemas, and with the tool that reads stored results. */
  readonly bounded: number;
  /** The list that clients get now. */
  readonly listed: {
    readonly mode: 'full' | 'search' | 'code';
    readonly isSlim: boolean;
    readonly tools: number;
    readonly tokens: number;
  };
}

interface Counted {
  readonly server: string;
  readonly name: string;
  readonly tokens: number;
  readonly slim: number;
  readonly withoutOutput: number;
  /** In the order of `measures`. */
  readonly by: readonly number[];
}

const maxRows = 500;
/** Tools that are counted before other work of the process gets its turn. */
const sliceLength = 200;
/** A view never changes, so its tools are counted once. */
const counts = new WeakMap<View, Promise<Pick<TokenCosts, 'listed'> & { readonly tools: readonly Counted[] }>>();
const words: Readonly<Record<Measure, string>> = {
  titles: 'titles that repeat a name',
  examples: 'examples in schemas',
  schema: '$schema',
  empty: 'empty objects and lists',
  space: 'indentation and empty lines',
};

/**
 * @param server its tools are the rows; undefined: the servers are.
 * @param pause resolves when other work of the process had its turn.
 */
export async function tokenCosts(
  view: View,
  server: string | undefined,
  pause: () => Promise<void>,
): Promise<TokenCosts> {
  let counting = counts.get(view);
  if (counting === undefined) {
    counting = countedOf(view, pause).then((tools) => ({ tools, listed: listedBy(view) }));
    counts.set(view, counting);
    // The next question counts again.
    counting.catch(() => counts.delete(view));
  }
  const { tools: every, listed } = await counting;
  const all = every.filter((tool) => server === undefined || tool.server === server);
  const groups = Map.groupBy(all, (tool) => (server === undefined ? tool.server : tool.name));
  const rows = [...groups]
    .map(([name, tools]) => ({ name, ...costOf(tools) }))
    .toSorted((one, other) => other.tokens - one.tokens || one.name.localeCompare(other.name));
  const left = rows.slice(maxRows);
  const total = costOf(all);
  return {
    rows: rows.slice(0, maxRows),
    ...(left.length === 0 ? {} : { others: { rows: left.length, ...addedUp(left) } }),
    total,
    savings: measures.map((measure, at) => ({
      measure,
      what: words[measure],
      tokens: total.tokens - sum(all.map(({ by }) => by[at] as number)),
    })),
    search: sum(finders.entries(false).map(sizeOf)),
    code: sum(coders.entries(true).map(sizeOf)),
    bounded: sum(all.map(({ withoutOutput }) => withoutOutput)) + sizeOf(resultReader.entry),
    listed,
  };
}

async function countedOf(view: View, pause: () => Promise<void>): Promise<readonly Counted[]> {
  const { listing } = view.definition;
  const whole = listing === undefined ? {} : { listing: { ...listing, isSlim: false } };
  const tools = view.everyTool(whole).filter(({ isUp, isHeld, unfit }) => isUp && !isHeld && unfit === undefined);
  const counted: Counted[] = [];
  for (const { server, original, entry } of tools) {
    if (counted.length % sliceLength === sliceLength - 1) await pause();
    const tool = readByModels(entry);
    const { outputSchema: _schema, ...withoutOutput } = tool;
    counted.push({
      server,
      name: original,
      tokens: sizeOf(tool),
      slim: sizeOf(slimTool(tool)),
      withoutOutput: sizeOf(withoutOutput),
      by: measures.map((measure) => sizeOf(slimTool(tool, [measure]))),
    });
  }
  return counted;
}

/** Clients pass these members to a model, and no others. */
function readByModels({ name, title, description, inputSchema, outputSchema, annotations }: JsonObject): JsonObject {
  const members = { name, title, description, inputSchema, outputSchema, annotations };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function listedBy(view: View): TokenCosts['listed'] {
  const { listing } = view.definition;
  const sizes: number[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { tools = [], nextCursor } = JSON.parse(view.list('tools', cursor) ?? '{}') as {
      readonly tools?: readonly JsonObject[];
      readonly nextCursor?: string;
    };
    sizes.push(...tools.map((tool) => sizeOf(readByModels(tool))));
    cursor = nextCursor;
  }
  return {
    mode: listing?.mode ?? 'full',
    isSlim: listing?.isSlim === true,
    tools: sizes.length,
    tokens: sum(sizes),
  };
}

const sizeOf = (tool: JsonObject): number => tokensOf(JSON.stringify(tool));
const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

function costOf(tools: readonly Counted[]): TokenCost {
  return {
    tools: tools.length,
    tokens: sum(tools.map(({ tokens }) => tokens)),
    slim: sum(tools.map(({ slim }) => slim)),
  };
}

function addedUp(costs: readonly TokenCost[]): TokenCost {
  return {
    tools: sum(costs.map(({ tools }) => tools)),
    tokens: sum(costs.map(({ tokens }) => tokens)),
    slim: sum(costs.map(({ slim }) => slim)),
  };
}
