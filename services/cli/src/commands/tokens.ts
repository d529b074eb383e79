/** Shows the cost of an endpoint's tools for a model in each conversation, by server or by tool, and the savings of each measure. */
import type { Catalogue } from '@omnibus/admin-api';
import { coders, finders, measures, slimTool, tokensOf, type Measure } from '@omnibus/catalog';
import { printable, type JsonObject } from '@omnibus/protocol';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { alignColumns } from '../output/table.ts';
import { askApi, type ApiOptions } from './api.ts';

export interface TokensOptions extends ApiOptions {
  readonly endpoint?: string;
  readonly server?: string;
}

type Entry = Catalogue['entries'][number];

interface Cost {
  readonly tools: number;
  readonly tokens: number;
  /** After all measures of `slim`. */
  readonly slim: number;
}

const counting = 'characters / 4';
const words: Readonly<Record<Measure, string>> = {
  titles: 'titles that repeat a name',
  examples: 'examples in schemas',
  schema: '$schema',
  empty: 'empty objects and lists',
  space: 'indentation and empty lines',
};

export function showTokens(options: TokensOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const entries = await toolsOf(options);
    const tools = entries.map((entry) => ({ entry, tool: toolOf(entry) }));
    const of = ({ server, ownName }: Entry): string => (options.server === undefined ? server : ownName);
    const groups = Map.groupBy(tools, ({ entry }) => of(entry));
    const rows = [...groups]
      .map(([name, all]) => ({ name, ...costOf(all.map(({ tool }) => tool)) }))
      .toSorted((one, other) => other.tokens - one.tokens);
    const all = tools.map(({ tool }) => tool);
    const total = costOf(all);
    const savings = measures.map((measure) => ({
      measure,
      tokens: total.tokens - sum(all.map((tool) => slimTool(tool, [measure]))),
    }));
    const short = { search: sum(finders.entries(false)), code: sum(coders.entries()) };
    if (options.json === true) answerJson({ counting, rows, total, savings, ...short });
    else answer(`${linesOf(options, rows, total, savings, short).join('\n')}\n`);
    return 'done';
  });
}

async function toolsOf(options: TokensOptions): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const { endpoint, server } = options;
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const query = new URLSearchParams({
      kind: 'tool',
      ...(cursor === '' ? {} : { cursor }),
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(server === undefined ? {} : { server }),
    });
    const page: Catalogue = await askApi(options, 'catalogue', `/catalogue?${query.toString()}`);
    entries.push(...page.entries);
    cursor = page.next;
  }
  return entries;
}

/** The tool as a list has it. */
function toolOf({ name, title, description, inputSchema, outputSchema, annotations }: Entry): JsonObject {
  return JSON.parse(JSON.stringify({ name, title, description, inputSchema, outputSchema, annotations })) as JsonObject;
}

const sum = (tools: readonly JsonObject[]): number =>
  tools.reduce((tokens, tool) => tokens + tokensOf(JSON.stringify(tool)), 0);

function costOf(tools: readonly JsonObject[]): Cost {
  return { tools: tools.length, tokens: sum(tools), slim: sum(tools.map((tool) => slimTool(tool))) };
}

function linesOf(
  { server }: TokensOptions,
  rows: readonly (Cost & { readonly name: string })[],
  total: Cost,
  savings: readonly { readonly measure: Measure; readonly tokens: number }[],
  short: { readonly search: number; readonly code: number },
): readonly string[] {
  const saved = (tokens: number): string =>
    total.tokens === 0 ? '0 %' : `${((100 * (total.tokens - tokens)) / total.tokens).toFixed(1)} %`;
  const head = server === undefined ? ['SERVER', 'TOOLS'] : ['TOOL'];
  const cells = ({ name, tools, tokens, slim }: Cost & { readonly name: string }): string[] => [
    printable(name, 60),
    ...(server === undefined ? [String(tools)] : []),
    String(tokens),
    String(slim),
  ];
  return [
    ...alignColumns([[...head, 'TOKENS', 'SLIM'], ...rows.map(cells), cells({ name: 'in all', ...total })]).split('\n'),
    '',
    ...alignColumns([
      ['MEASURE', 'TOKENS', 'SAVED'],
      ['listing: full', String(total.tokens), saved(total.tokens)],
      ...savings
        .filter(({ tokens }) => tokens > 0)
        .map(({ measure, tokens }) => [
          `  without ${words[measure]}`,
          String(total.tokens - tokens),
          saved(total.tokens - tokens),
        ]),
      ['listing: { slim: true }', String(total.slim), saved(total.slim)],
      ['listing: search', String(short.search), saved(short.search)],
      ['listing: code', String(short.code), saved(short.code)],
    ]).split('\n'),
    '',
    `Tokens of tool definitions in each conversation, counted as ${counting}. A tokenizer of a model counts otherwise; ratios stay about the same.`,
  ];
}
