/** The cost of an endpoint's tools for a model in each conversation, as the API shows it. */
import { z } from 'zod';
import { missing } from './state.ts';

const counted = z.int().nonnegative();
const tokenCost = z.object({
  tools: counted,
  tokens: counted,
  slim: counted.describe('With `listing: { slim: true }`.'),
});

/** The answer of one process. */
const tokensPart = z.object({
  rows: z
    .array(tokenCost.extend({ name: z.string().describe('Of a server; with `server`, of a tool.') }))
    .describe('The most expensive first; at most 500.'),
  others: tokenCost.extend({ rows: counted }).optional().describe('The sum of rows that are left out.'),
  total: tokenCost,
  savings: z
    .array(
      z.object({
        measure: z.enum(['titles', 'examples', 'schema', 'empty', 'space']),
        what: z.string().describe('The characters that it leaves out, in words.'),
        tokens: counted,
      }),
    )
    .describe('Tokens that each measure of `slim` alone saves.'),
  search: counted.describe('Tokens of the list with `listing: search`.'),
  code: counted.describe('Tokens of the list with `listing: code`.'),
  bounded: counted.describe(
    'Tokens of the whole list with a bound on all results: without output schemas, and with `read_result`.',
  ),
  listed: z
    .object({ mode: z.enum(['full', 'search', 'code']), isSlim: z.boolean(), tools: counted, tokens: counted })
    .describe('The list of the whole endpoint as clients get it now.'),
});

const resultsSaved = z.object({
  results: counted.describe('Results over their bound, since the processes started.'),
  tokens: counted.describe('Tokens of these results that clients did not get.'),
});
export const tokensSaid = z.object({ costs: tokensPart.optional(), saved: resultsSaved });

export const tokens = tokensPart.extend({
  endpoint: z.string().describe('Empty for the one of all servers.'),
  endpoints: z.array(z.object({ name: z.string(), path: z.string() })),
  counting: z.string().describe('How tokens are counted.'),
  saved: resultsSaved.describe('By bounds on results, at all endpoints.'),
  missing,
});
export type Tokens = z.output<typeof tokens>;
