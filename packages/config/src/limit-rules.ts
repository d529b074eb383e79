/** The part of the configuration that says how much callers may use. */
import { z } from 'zod';
import { hint } from './access-schema.ts';
import { isToken, selectorProblem, whoProblem } from '@omnibus/protocol';
import { nonEmpty } from './plain-options.ts';

/** A text that names callers, as in rules. */
export const whoText = z.string().superRefine((text, context) => {
  const problem = text.startsWith('grant:')
    ? 'grants count in access rules only: name the callers themselves'
    : whoProblem(text);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});
const what = nonEmpty.superRefine((text, context) => {
  const problem = selectorProblem(text);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});
const shares = z.enum(['principal', 'tenant', 'client', 'server', 'tool', 'everyone']);

const rate = z
  .string()
  .regex(/^[1-9]\d{0,6}\/(s|min|h)$/, {
    error: 'expected a number of calls and a time, such as "10/s", "100/min" or "1000/h"',
  })
  .transform((text) => {
    const [count, per] = text.split('/') as [string, 's' | 'min' | 'h'];
    return { count: Number(count), per };
  });
const units = { '': 1, KB: 1_024, MB: 1_024 ** 2, GB: 1_024 ** 3 } as const;
const amount = (unit: string, example: string) =>
  z
    .string()
    .regex(new RegExp(`^[1-9]\\d{0,11}${unit}/(day|month)$`), {
      error: `expected an amount and a time, such as ${example}`,
    })
    .transform((text) => {
      const [, count = '', size = '', window = 'day'] = /^(\d+)(KB|MB|GB)?\/(day|month)$/.exec(text) ?? [];
      return { most: Number(count) * units[size as keyof typeof units], window: window as 'day' | 'month' };
    });

const rule = z
  .strictObject({
    id: z
      .string()
      .refine(isToken, { error: 'expected 1 to 64 characters of letters, digits, "_" and "-"' })
      .optional()
      .describe('Name of the rule in refusals and metrics, and of its stored quota. Default: "rule-" and its number.'),
    who: z
      .union([whoText, z.array(whoText).min(1).max(1_000)])
      .default('everyone')
      .describe(
        'Callers that the rule limits: "everyone", "user:ISSUER|SUBJECT", "key:SUBJECT", "group:NAME" (of callers without a tenant), "tenant:NAME", "client:ID", "agent:NAME", "scope:NAME", "claim:NAME=VALUE", "known" for every authenticated caller; or a list of these.',
      ),
    what: z
      .array(what)
      .min(1)
      .default(['*'])
      .describe(
        'Targets of the calls: globs over `server/tool`, `prompt:server/name` and `resource:server/uri` with the server\'s own names; the name of a server for all its entries; "*" for everything.',
      ),
    only: z
      .union([hint, z.array(hint).min(1).max(10)])
      .optional()
      .describe(
        'Only calls of tools with this annotation count, such as "destructive". At a server without `hints: believe` every tool counts, and a tool without annotations has the defaults of the specification: it is destructive, and of an open world. Default: all calls.',
      ),
    per: z
      .union([shares, z.array(shares).min(1)])
      .default('principal')
      .describe(
        'Callers that share one budget. principal: each caller has its own; tenant, client: all callers of one tenant or client share it; server, tool: all calls of one server or tool share it; everyone: all callers that the rule limits share it. A list: one budget for each combination. For the budget of a group write `who: group:NAME` with `per: everyone`.',
      ),
    rate: rate.optional().describe('Most calls in a time: "10/s", "100/min", "1000/h".'),
    burst: z
      .int()
      .positive()
      .max(1_000_000)
      .optional()
      .describe('Most calls in one burst. Default: the number of calls in `rate`.'),
    concurrency: z.int().positive().max(1_000_000).optional().describe('Most calls that run at the same time.'),
    quota: amount('', '"1000/day" or "20000/month"')
      .optional()
      .describe('Most calls in a day or month of UTC: "1000/day", "20000/month".'),
    bytes: amount('(KB|MB|GB)?', '"100MB/day"')
      .optional()
      .describe(
        'Most characters of JSON in the results of a day or month of UTC: "100MB/day". Calls that are running when it is used up are still answered.',
      ),
    onUnknown: z
      .enum(['allow', 'refuse'])
      .default('refuse')
      .describe('Whether calls pass while the store of quotas does not answer.'),
    because: z.string().max(500).optional().describe('Text for a refused caller.'),
  })
  .refine(
    ({ rate: often, concurrency, quota, bytes }) =>
      often !== undefined || concurrency !== undefined || quota !== undefined || bytes !== undefined,
    { error: 'expected at least one of rate, concurrency, quota and bytes' },
  )
  .refine(({ rate: often, burst }) => burst === undefined || often !== undefined, {
    error: 'burst goes with rate',
    path: ['burst'],
  });

export const limitRules = z
  .array(rule)
  .max(1_000)
  .default([])
  .refine((rules) => new Set(rules.map(({ id }, index) => id ?? `rule-${index + 1}`)).size === rules.length, {
    error: 'two rules have one id',
  });
