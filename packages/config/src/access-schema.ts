/** Rules in the configuration (`docs/how-to/policy.md`). The compiler of rules checks the texts (`policy/rule.ts`). */
import { z } from 'zod';
import { duration, givenDuration, httpUrl, nonEmpty, offByDefault, ruleId, textMap } from './plain-options.ts';

export const texts = z.union([nonEmpty.max(1_000), z.array(nonEmpty.max(1_000)).max(1_000)]);
export const optionalTexts = texts.optional();

const parts = z.strictObject({
  user: optionalTexts.describe('"ISSUER|SUBJECT", exactly.'),
  key: optionalTexts.describe('The subject of API keys.'),
  group: optionalTexts.describe(
    'A group: "NAME", or "ISSUER|NAME" for one of that issuer; in the name "*" stands for any text. With `tenant`, one of that tenant; without, one of callers that have no tenant.',
  ),
  tenant: optionalTexts.describe('The tenant of the caller.'),
  client: optionalTexts.describe('The client id of the program that the token was issued to: "ID", or "ISSUER|ID".'),
  agent: optionalTexts.describe(
    "The name of an agent of the gateway's own authorization server (docs/how-to/agents.md). For an agent that acts for a user, a rule that permits needs `via`.",
  ),
  scope: optionalTexts.describe('A scope of the token: "NAME", or "ISSUER|NAME".'),
  claim: optionalTexts.describe(
    'A claim of the token, as "NAME=VALUE"; in the value "*" stands for any text. The issuer must pass the claim on (`claims`); a caller without the claim does not match.',
  ),
  grant: optionalTexts.describe('A grant under `access.grants` that the caller has now.'),
  via: optionalTexts.describe(
    'An agent that acts for the user: "any" for every agent, "agent:NAME" for one of the gateway\'s own authorization server, "ISSUER|SUBJECT" of another one, or "client:ID".',
  ),
});
const selector = nonEmpty.max(1_000);
export const who = z.union([
  selector,
  z
    .array(z.union([selector, parts]))
    .min(1)
    .max(1_000),
  parts,
]);

const number = z.number();
const argument = z.strictObject({
  min: number.optional().describe('A number of at least this.'),
  max: number.optional().describe('A number of at most this.'),
  in: z
    .array(z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .max(1_000)
    .optional()
    .describe('Exactly one of these.'),
  maxLength: z
    .int()
    .nonnegative()
    .optional()
    .describe('A text of at most so many characters, or a list of at most so many members.'),
  pattern: optionalTexts.describe('Globs; a text has to match one of them.'),
  matches: optionalTexts.describe(
    'Regular expressions of RE2 (no look-around, no back-references), of which one has to match the whole text. A text of more than 4,096 characters counts against the caller.',
  ),
  optional: z
    .boolean()
    .optional()
    .describe(
      'true: a call without the argument passes this check. Otherwise a missing argument counts against the caller.',
    ),
});

export const hint = z.enum([
  'readOnly',
  'destructive',
  'nonDestructive',
  'idempotent',
  'openWorld',
  'closedWorld',
  'writes',
]);

/** An approval waits for a person; a client with a longer need should ask beforehand. */
const maxExpiresMs = 24 * 60 * 60_000;
const expires = givenDuration.refine((ms) => ms > 0 && ms <= maxExpiresMs, { error: 'expected a time of at most 24h' });

/** Rights for a time are in a bucket that forgets after 32 days. */
const maxLastsMs = 31 * 24 * 60 * 60_000;
const lasts = givenDuration.refine((ms) => ms >= 60_000 && ms <= maxLastsMs, { error: 'expected a time of 1m to 31d' });

/** When a rule holds, and for which calls; of guardrails too (`guardrails-schema.ts`). */
export const conditions = {
  only: z
    .union([hint, z.array(hint).min(1).max(10)])
    .optional()
    .describe(
      'The rule is about tools with this hint only. Hints are believed at servers with `hints: believe`; at other servers a rule with `only` allows no tool, or denies every tool.',
    ),
  args: z
    .record(nonEmpty.max(200), argument)
    .optional()
    .describe(
      'Conditions on arguments of the call, keyed by the name of the argument, or by a JSON pointer such as "/filter/limit".',
    ),
  time: z
    .strictObject({
      days: optionalTexts.describe('"mon-fri", or days one by one. Default: every day.'),
      hours: z
        .string()
        .optional()
        .describe('Hours of the day such as "08:00-18:00", without the last minute named. Default: all day.'),
      from: z
        .string()
        .optional()
        .describe(
          'First moment at which the rule holds: a date such as "2026-12-01", or a date and time such as "2026-12-01T08:00" in `zone`, or with a zone of its own ("Z", "+01:00").',
        ),
      until: z
        .string()
        .optional()
        .describe(
          'End of the rule, written like `from`. A date alone includes that day; a time is the first moment after it.',
        ),
      zone: z.string().optional().describe('The time zone, such as "Europe/Berlin". Default: UTC.'),
    })
    .optional()
    .describe('When the rule holds.'),
  network: optionalTexts.describe(
    'Addresses and networks that the client connects from, such as "10.0.0.0/8". With a proxy in front, set `security.trustedProxies`.',
  ),
  when: nonEmpty
    .max(4_000)
    .optional()
    .describe('A condition in CEL over `args`, `caller`, `method`, `server` and `name`.'),
};

const rule = z.strictObject({
  id: ruleId.optional().describe('Name of the rule in refusals, logs and records. Default: its number, such as "#3".'),
  who: who.describe(
    '"everyone", "known" (every authenticated caller), "user:ISSUER|SUBJECT", "key:SUBJECT", "group:NAME", "tenant:NAME", "client:ID", "agent:NAME", "scope:NAME", "claim:NAME=VALUE", "grant:NAME", several at once as in `{ tenant: acme, group: eng }`, or a list of which one has to match. Groups, clients and scopes of one issuer are "group:ISSUER|NAME", and so on.',
  ),
  except: who.optional().describe('Callers that the rule exempts; written like `who`.'),
  allow: optionalTexts.describe(
    'Targets that the rule allows: globs over "server/tool", "prompt:server/name" and "resource:server/uri" with the server\'s own names, or the name of a server for all its entries, or "*" for everything.',
  ),
  deny: optionalTexts.describe(
    'Targets that the rule denies, whatever other rules allow; written like `allow`. A rule has one of `allow`, `deny`, `ask`, `redact` and `label`.',
  ),
  ask: optionalTexts.describe(
    'Targets for which each call, prompt or read needs an approval, also if other rules allow it without; written like `allow`.',
  ),
  redact: optionalTexts.describe(
    'Targets whose results the rule redacts, whatever rule allows them: globs as in `allow`. It removes the matches of `patterns` and the values at `paths`.',
  ),
  label: optionalTexts.describe(
    'Targets whose results label the conversation, whatever rule allows them: globs as in `allow`. `as` names the labels. A session is a conversation; so are the requests of one user and client without sessions (docs/how-to/flow.md).',
  ),
  as: optionalTexts.describe(
    'The labels that results of a rule with `label` add, such as "untrusted" or "confidential: crm".',
  ),
  after: optionalTexts.describe(
    'The rule holds in conversations with all of these labels only. For rules with `allow`, `deny` and `ask`.',
  ),
  patterns: optionalTexts.describe(
    'Patterns that a rule with `redact` searches in texts and numbers: "email", "card" (with a valid check digit), "iban", "key" (tokens and private keys by their shapes), or patterns such as "EMP-[0-9]{6}": characters, classes, {n}, {n,m} and ?, without groups, "|", "*", "+" and ".".',
  ),
  paths: optionalTexts.describe(
    'JSON pointers to values of structured results that a rule with `redact` takes out, in which "*" is any member or item: "/customers/*/phone". A text that is the same as JSON is treated alike.',
  ),
  unreadable: z
    .enum(['withhold', 'pass'])
    .optional()
    .describe(
      'How to treat contents that a rule with `redact` cannot search: images, audio and other binary contents, results of more than 1,048,576 characters, and, with `paths`, texts that are not JSON. Default: withhold.',
    ),
  by: z
    .enum(['caller', 'approvers'])
    .optional()
    .describe(
      'Approver of the calls of a rule with `ask`. caller: the calling user, in a form of the client (elicitation). approvers: other users, at the admin port (`omnibus approvals`). Default: approvers if the rule names some, else the caller.',
    ),
  approvers: optionalTexts.describe(
    'Users that may approve, out of those with the role approver, operator or admin (`auth.admin.roles`): "group:NAME", "group:ISSUER|NAME", "key:SUBJECT" or "ISSUER|SUBJECT". No user may approve their own calls. Default: all users with one of these roles.',
  ),
  quorum: z
    .int()
    .min(1)
    .max(10)
    .optional()
    .describe(
      'Number of different approvers that must approve a call of a rule with `ask`, at most 10. One refusal refuses it. Default: 1.',
    ),
  expires: expires
    .optional()
    .describe(
      'Time after which the gateway refuses an unapproved call of a rule with `ask`, at most 24h. If the caller approves, `timeouts.human` also applies. Default: 10m.',
    ),
  lasts: lasts
    .optional()
    .describe(
      'Longest time for which an approver may allow further calls of the same tool by the same caller with the same client, at most 31d. Default: each call of a rule with `ask` needs an approval.',
    ),
  ...conditions,
  because: z.string().max(500).optional().describe('Text in the refusal: the reason, or a contact.'),
});

const grant = z.strictObject({
  id: ruleId.describe('Name of the grant, which rules have under `who` as "grant:NAME".'),
  who: who.describe('Callers that may ask for it, written like `who` of a rule; it counts only while they match.'),
  group: nonEmpty
    .max(1_000)
    .optional()
    .describe('Group that the holder counts as a member of in access rules, and nowhere else. Default: none.'),
  lasts: lasts.describe('Longest time that a caller may ask for, 1m to 31d.'),
  approvers: optionalTexts.describe(
    'Users that may approve it, as in a rule with `ask`. No user may approve their own grant. Default: all users with the role approver, operator or admin.',
  ),
  because: z.string().max(500).optional().describe('Text for the caller that asks, such as what the reason must name.'),
});

export const accessSchema = z.strictObject({
  default: z.enum(['allow', 'deny']).default('deny').describe('What holds for a request that no rule is about.'),
  mode: z
    .enum(['enforce', 'record'])
    .default('enforce')
    .describe(
      'record: the gateway refuses and hides nothing; it logs and counts the requests that the rules would refuse.',
    ),
  rules: z
    .array(rule)
    .max(1_000)
    .default([])
    .describe(
      'Rules that deny override rules that ask, these override rules that allow, and all override `default`. The order of the rules has no effect.',
    ),
  grants: z
    .array(grant)
    .max(1_000)
    .default([])
    .describe('Rights for a time that callers ask for with a reason, and that an approver gives (`omnibus grants`).'),
  decisions: z
    .strictObject({
      url: httpUrl.describe(
        'The address that `/access/v1/evaluation` and `/access/v1/evaluations` of the AuthZEN API are below.',
      ),
      headers: textMap.describe('HTTP headers of each request, for example `Authorization`. Secret.'),
      timeout: givenDuration
        .refine((ms) => ms > 0 && ms <= 30_000, { error: 'expected a time of at most 30s' })
        .prefault('2s')
        .describe('Time limit for one answer, at most 30s. Without an answer in time, nothing is permitted.'),
      cache: givenDuration
        .refine((ms) => ms >= 1_000 && ms <= 3_600_000, { error: 'expected a time of 1s to 1h' })
        .prefault('30s')
        .describe('How long decisions about entries of lists are kept, 1s to 1h. Decisions about calls are not kept.'),
      batch: z.int().min(1).max(1_000).default(100).describe('Most questions of one request about lists.'),
      concurrency: z
        .int()
        .min(1)
        .max(1_000)
        .default(20)
        .describe('Most requests at the same time, for each session worker.'),
    })
    .optional()
    .describe(
      'External decision point (AuthZEN API) that must permit what the rules allow: each call, and each entry of a list. It permits nothing that the rules do not allow. Default: the rules alone decide.',
    ),
  approvals: z
    .strictObject({
      clients: offByDefault.describe(
        "true: approvers with an MCP client that can show forms (elicitation) get the request there too, in addition to the admin port. A client that answers forms without its user approves in the user's name.",
      ),
      webhook: z
        .strictObject({
          url: httpUrl.describe('The address that each message is posted to.'),
          secret: z
            .string()
            .min(16)
            .describe(
              'The secret that each message is signed with: HMAC-SHA256, in the header `omnibus-signature`. Secret.',
            ),
          timeout: duration('5s').describe('Time limit of one attempt.'),
          attempts: z
            .int()
            .min(1)
            .max(20)
            .default(5)
            .describe(
              'Attempts before the gateway drops a message, logs and counts it. The wait between them doubles.',
            ),
        })
        .optional()
        .describe(
          'Webhook that gets a message for each call that waits for approvers, and for the end of the wait. It cannot approve anything.',
        ),
    })
    .prefault({})
    .describe('How approvers learn of waiting calls (`ask`). A change takes effect with the next start.'),
});
