/** Rights in the API: the rules in force, explained decisions, and the visible entries of a caller. */
import { z } from 'zod';
import { missing } from './state.ts';

const counted = z.int().nonnegative();
const decisions = ['allow', 'ask', 'deny', 'hidden'] as const;
export type PolicyDecision = (typeof decisions)[number];
const effect = z.enum(['allow', 'deny', 'ask', 'redact', 'label', 'guard']);

const policyRule = z.object({
  id: z.string(),
  effect,
  who: z.string().describe('In the words of the configuration.'),
  except: z.string().optional(),
  what: z.array(z.string()),
  conditions: z.array(z.string()).describe('All of them have to hold, in words; empty for a rule that always holds.'),
  terms: z
    .string()
    .optional()
    .describe(
      'Of a rule that asks: who approves, and within what time. Of one that redacts: what. Of one that labels: the labels.',
    ),
  because: z.string().optional(),
  place: z.string().optional().describe('`omnibus.yaml:14`.'),
});
export type PolicyRule = z.output<typeof policyRule>;

export const policy = z.object({
  hasRules: z.boolean().describe('False where nothing says who may do what: whoever may connect may use everything.'),
  default: z.enum(['allow', 'deny']),
  isRecorded: z
    .boolean()
    .describe('Whether decisions are only logged and counted, and nothing is refused or hidden (`mode: record`).'),
  version: z.string().optional().describe('Digest of the rules, as audit records have it.'),
  file: z.string(),
  process: z.string().describe('The process whose rules these are.'),
  rules: z.array(policyRule),
  total: counted,
  next: z.string().optional().describe('`cursor` of the next page.'),
  guardrails: z.array(z.object({ id: z.string(), isRecorded: z.boolean() })),
});
export type PolicyPage = z.output<typeof policy>;

export const explained = z.object({
  who: z.string(),
  what: z.string(),
  outcome: z.enum(decisions).describe('hidden: refused as if it did not exist.'),
  isRecorded: z.boolean().describe('Whether the decision is only logged and counted, and not applied.'),
  rule: z.string().optional().describe('The rule that decided; left out where `default` did.'),
  because: z.string().optional(),
  redacted: z.string().optional().describe('The rule that takes a part out of results.'),
  labels: z.array(z.string()).describe('The labels that its result adds to the conversation.'),
  rules: z.array(z.object({ effect, id: z.string(), why: z.string(), isMatch: z.boolean() })),
  guardrails: z.array(
    z.object({ id: z.string(), on: z.array(z.string()), action: z.string(), isRecorded: z.boolean() }),
  ),
});
export type Explained = z.output<typeof explained>;

export const sees = z.object({
  who: z.string(),
  isRecorded: z.boolean(),
  rows: z.array(
    z.object({
      kind: z.enum(['tool', 'prompt', 'resource', 'template']),
      server: z.string(),
      name: z.string().describe('As its server says it.'),
      outcome: z.enum(decisions),
      isConditional: z
        .boolean()
        .describe(
          'Whether the rule that decides has conditions, so that other arguments, times or networks are decided otherwise.',
        ),
      rule: z.string().optional(),
      redacted: z.string().optional(),
    }),
  ),
  looked: counted.describe('Entries of the catalogue that were decided for this page.'),
  total: counted.describe('Entries of the catalogue that fit the filters on server, kind and words.'),
  next: z.string().optional(),
  missing,
});
export type Sees = z.output<typeof sees>;

const who = z
  .string()
  .min(1)
  .max(2_000)
  .describe(
    'As in a rule: `group:eng`, `key:ci`, `user:ISSUER|SUBJECT`; several properties as JSON, `{"tenant": "acme", "group": "eng"}`; `nobody` for an anonymous caller.',
  );
export const explainQuery = z.object({
  who,
  what: z
    .string()
    .min(1)
    .max(2_000)
    .describe(
      '`server/tool`, `prompt:server/name` or `resource:server/uri`, with the names that the server itself gives.',
    ),
  args: z.string().max(8_000).optional().describe('The arguments of the call, a JSON object.'),
  at: z.string().max(64).optional().describe('When, ISO 8601. Default: now.'),
  from: z.string().max(64).optional().describe('The address of the client.'),
  hint: z.string().max(200).optional().describe('Hints of the tool that are true, with commas: `readOnlyHint`.'),
  after: z.string().max(1_000).optional().describe('Labels that the conversation has, with commas. Default: none.'),
});
export const seesQuery = z.object({
  who,
  outcome: z.enum(decisions).optional(),
  kind: z.enum(['tool', 'prompt', 'resource', 'template']).optional(),
  server: z.string().max(64).optional(),
  q: z.string().max(200).optional().describe('Stands in a name, title or description.'),
  cursor: z.string().max(2_000).optional().describe('`next` of the page before.'),
});
