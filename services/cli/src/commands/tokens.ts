/** Shows the cost of an endpoint's tools for a model in each conversation, by server or by tool, and the savings of each measure. */
import type { Tokens } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { alignColumns } from '../output/table.ts';
import { askApi, type ApiOptions } from './api.ts';
import { sayMissing } from './calls.ts';

export interface TokensOptions extends ApiOptions {
  readonly endpoint?: string;
  readonly server?: string;
}

export function showTokens(options: TokensOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { endpoint, server } = options;
    const query = new URLSearchParams({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(server === undefined ? {} : { server }),
    });
    const {
      endpoint: _endpoint,
      endpoints: _endpoints,
      missing,
      ...costs
    } = await askApi(options, 'tokens', `/tokens?${query.toString()}`);
    if (options.json === true) answerJson({ ...costs, missing });
    else answer(`${linesOf(server !== undefined, costs).join('\n')}\n`);
    sayMissing(missing);
    return 'done';
  });
}

type Costs = Omit<Tokens, 'endpoint' | 'endpoints' | 'missing'>;

function linesOf(isOfTools: boolean, costs: Costs): readonly string[] {
  const { rows, others, total, listed, saved, counting } = costs;
  const cells = ({ name, tools, tokens, slim }: Costs['rows'][number]): string[] => [
    printable(name, 60),
    ...(isOfTools ? [] : [String(tools)]),
    String(tokens),
    String(slim),
  ];
  return [
    ...alignColumns([
      [...(isOfTools ? ['TOOL'] : ['SERVER', 'TOOLS']), 'TOKENS', 'SLIM'],
      ...rows.map(cells),
      ...(others === undefined ? [] : [cells({ ...others, name: `${others.rows} more` })]),
      cells({ name: 'in all', ...total }),
    ]).split('\n'),
    '',
    ...alignColumns([['MEASURE', 'TOKENS', 'SAVED'], ...measureRows(costs)]).split('\n'),
    '',
    `The whole endpoint lists ${listed.tools} tools in ${listed.tokens} tokens now (listing: ${listed.mode}${listed.isSlim ? ', slim' : ''}).`,
    ...(saved.results === 0
      ? []
      : [`Bounds have shortened ${saved.results} results by ${saved.tokens} tokens since the gateway started.`]),
    `Tokens of tool definitions in each conversation, counted as ${counting}. A tokenizer of a model counts otherwise; ratios stay about the same.`,
  ];
}

function measureRows({ total, savings, search, code, bounded }: Costs): string[][] {
  const row = (name: string, tokens: number): string[] => [
    name,
    String(tokens),
    total.tokens === 0 ? '0 %' : `${((100 * (total.tokens - tokens)) / total.tokens).toFixed(1)} %`,
  ];
  return [
    row('listing: full', total.tokens),
    ...savings
      .filter(({ tokens }) => tokens > 0)
      .map(({ what, tokens }) => row(`  without ${what}`, total.tokens - tokens)),
    row('listing: { slim: true }', total.slim),
    row('results: { maxTokens: N }', bounded),
    row('listing: search', search),
    row('listing: code', code),
  ];
}
