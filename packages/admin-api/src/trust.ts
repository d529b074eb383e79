/** Calls that wait for approvers, and definitions of servers that differ from the approved ones. */
import { z } from 'zod';
import { missing } from './state.ts';

const counted = z.int().nonnegative();
const ms = z.number().describe('Milliseconds since 1970.');

export const approvalStates = ['waiting', 'approved', 'refused', 'used', 'expired', 'withdrawn'] as const;
const approval = z.object({
  id: z.string(),
  state: z
    .enum(approvalStates)
    .describe(
      '`approved`: the call is about to be made; `used`: it was made; `withdrawn`: its client cancelled it or is gone.',
    ),
  at: ms,
  until: ms.describe('Milliseconds since 1970; afterwards it is expired.'),
  rule: z.string().describe('The rule that asks for the approval.'),
  because: z.string().optional().describe('The reason that the rule gives.'),
  server: z.string(),
  kind: z.enum(['prompt', 'resource']).optional().describe('Left out for a tool.'),
  tool: z.string().describe("The server's own name of the tool or prompt, or the URI."),
  arguments: z
    .string()
    .describe(
      'JSON, with invisible characters written as code points; cut in lists where it is long, and whole for one call.',
    ),
  hidden: counted
    .optional()
    .describe('Characters of `tool` and `arguments` that were cut off. A call that is shown so cannot be approved.'),
  digest: z
    .string()
    .describe(
      'Of server, tool with its definition, all arguments, caller, rule and time; a decision names it, and so is about this call only.',
    ),
  principal: z.string(),
  who: z
    .array(z.string())
    .describe('The caller, `ISSUER|SUBJECT`, followed by those who act for it; empty where nobody is known.'),
  tenant: z.string().optional(),
  client: z.string().optional(),
  worker: z.string().describe('The process that holds the call.'),
  approvers: z
    .array(z.string())
    .optional()
    .describe('Those who may decide; left out where everybody with the role may.'),
  quorum: counted.optional().describe('Number of different approvers that must approve; left out for one.'),
  votes: z
    .array(z.object({ by: z.string(), at: ms }))
    .optional()
    .describe('The approvals so far, where several are needed.'),
  isVoted: z
    .boolean()
    .optional()
    .describe('Whether the caller of this operation has approved it, and may withdraw that approval.'),
  lasts: z
    .number()
    .optional()
    .describe('Milliseconds for which an approver may allow further calls; left out if each call needs an approval.'),
  forMs: z.number().optional().describe('Milliseconds for which the approver has allowed further calls.'),
  by: z.string().optional().describe('Who has decided.'),
  reason: z.string().optional(),
  mayDecide: z.boolean().describe('Whether whoever asks may decide it now.'),
  obstacle: z.string().optional().describe('Why not, of one that waits.'),
});
export type Approval = z.output<typeof approval>;
export const approvals = z.object({
  at: z.string().describe('ISO 8601: the time by the clock of the gateway.'),
  approvals: z
    .array(approval)
    .describe(
      'Those of the last day that whoever asks may see: first those that wait, the most urgent first, then the others, the latest first.',
    ),
  waiting: counted,
  total: counted,
  next: z.string().optional().describe('`cursor` of the next page.'),
  missing,
});
export type Approvals = z.output<typeof approvals>;
export const approvalPage = z.object({ at: approvals.shape.at, approval });
export type ApprovalPage = z.output<typeof approvalPage>;
export const decision = z.strictObject({
  digest: z.string().max(64).describe('That of the call as it was shown.'),
  approve: z.boolean(),
  reason: z.string().max(500).optional().describe('The caller is told it, if the call is refused.'),
  forMs: z
    .int()
    .min(1_000)
    .optional()
    .describe(
      'With `approve`: milliseconds for which further calls of the same tool by the same caller and client are allowed; at most `lasts` of the call. Default: this call alone.',
    ),
});
export type Decision = z.output<typeof decision>;
export const decided = z.object({
  id: z.string(),
  state: z.enum(['waiting', 'approved', 'refused']).describe('`waiting`: for further approvers.'),
  by: z.string(),
});
export type Decided = z.output<typeof decided>;

const difference = z.object({
  at: z.string().describe('Path of the place, such as `inputSchema.properties.bcc`.'),
  before: z
    .string()
    .optional()
    .describe('JSON, with invisible characters written as code points; left out where there was nothing.'),
  after: z.string().optional(),
});
export type Difference = z.output<typeof difference>;
export const deviation = z.object({
  kind: z.enum(['tools', 'prompts', 'resourceTemplates', 'instructions']),
  name: z.string().describe("The server's own name, or the URI template; empty for instructions."),
  why: z
    .enum(['changed', 'new', 'hiding', 'moved'])
    .describe(
      '`hiding`: it has invisible text. `moved`: its server is reached at another address, or by another command.',
    ),
  isHeld: z
    .boolean()
    .describe(
      'Whether clients are shown nothing of it; else they are shown the approved texts, or with `warn` the new ones.',
    ),
  facets: z.array(z.string()).describe('What differs: words, input, output, hints or other.'),
  risks: z.array(z.string()).describe('Signs of danger, in words.'),
  digest: z.string().describe('Of the definition as it is now; an approval names it.'),
  differences: z.array(difference).optional().describe('Of one server only.'),
  notShown: counted.optional().describe('Differences that are too many or too long to be shown.'),
});
export type Deviation = z.output<typeof deviation>;
export const sign = z.object({
  kind: z.enum(['shadowing', 'look-alike', 'schema']),
  name: z.string().describe("The server's own name of a tool."),
  text: z.string().describe('What is suspicious about it.'),
  other: z.object({ server: z.string(), name: z.string() }).optional().describe('What it shadows or looks like.'),
});
const serverDefinitions = z.object({
  server: z.string(),
  mode: z.enum(['off', 'warn', 'pin']),
  problem: z.string().optional().describe('Why it is not known what was approved of it.'),
  held: counted.describe('Definitions that clients are not shown.'),
  deviations: z.array(deviation),
  more: counted.optional().describe('Deviations that are too many to be named.'),
  signs: z
    .array(sign)
    .describe(
      'What is suspicious about its tools, beside those of other servers: names that others have too or that look like others, and schemas that are costly to read. It is an indication, and holds nothing back.',
    ),
  processes: z.array(z.string()).describe('Processes that compare it.'),
});
export type ServerDefinitions = z.output<typeof serverDefinitions>;
export const definitions = z.object({
  servers: z.array(serverDefinitions).describe('In the order of the configuration.'),
  missing,
});
export type Definitions = z.output<typeof definitions>;
export const definitionsPage = z.object({ server: serverDefinitions, missing });
export type DefinitionsPage = z.output<typeof definitionsPage>;
export const definitionsApproval = z.strictObject({
  approve: z
    .array(z.string().max(64))
    .min(1)
    .max(300)
    .describe(
      'Digests of definitions as they were shown: if the server says something else by now, nothing is approved.',
    ),
});
export type DefinitionsApproval = z.output<typeof definitionsApproval>;
export const definitionsApproved = z.object({ server: z.string(), approved: counted });
export type DefinitionsApproved = z.output<typeof definitionsApproved>;
