/** Who may do what, as it is written (`docs/policy.md`). What the texts mean is checked where they are compiled (`policy/rule.ts`). */
import { z } from 'zod';

const texts = z.union([z.string().min(1).max(1_000), z.array(z.string().min(1).max(1_000)).max(1_000)]);
const named = (what: string) => texts.optional().describe(what);

const parts = z.strictObject({
  user: named('"ISSUER|SUBJECT", exactly.'),
  key: named('The subject of API keys.'),
  group: named('With `tenant`, a group of that tenant; without, a group of callers that have none.'),
  tenant: named('The tenant of the caller.'),
  client: named('The program that the token was given to.'),
  scope: named('A scope of the token.'),
  via: named('Agents that act for the user: "any", "ISSUER|SUBJECT" of the one that acts, or "client:ID".'),
});
const selector = z.string().min(1).max(1_000);
const who = z.union([selector, z.array(z.union([selector, parts])).min(1).max(1_000), parts]);

const number = z.number();
const argument = z.strictObject({
  min: number.optional().describe('A number of at least this.'),
  max: number.optional().describe('A number of at most this.'),
  in: z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])).max(1_000).optional().describe('Exactly one of these.'),
  maxLength: z.int().nonnegative().optional().describe('Of a text, or of a list.'),
  pattern: texts.optional().describe('Globs of which a text has to fit one.'),
  optional: z.boolean().optional().describe('Whoever leaves the argument out is not judged by it. Else what is left out counts against the caller.'),
});

const hint = z.enum(['readOnly', 'destructive', 'nonDestructive', 'idempotent', 'openWorld', 'closedWorld']);

const rule = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, { error: 'expected 1 to 64 characters of letters, digits, ".", "_" and "-"' }).optional().describe('What the rule is called in refusals, logs and records. Default: its number, such as "#3".'),
  who: who.describe('"everyone", "user:ISSUER|SUBJECT", "key:SUBJECT", "group:NAME", "tenant:NAME", "client:ID", "scope:NAME", several at once as in `{ tenant: acme, group: eng }`, or a list of which one has to fit.'),
  except: who.optional().describe('Whom the rule is not about; written like `who`.'),
  allow: texts.optional().describe('What it allows: globs over "server/tool", "prompt:server/name" and "resource:server/uri" by the server\'s own names, the name of a server, or "*".'),
  deny: texts.optional().describe('What it denies, whatever other rules allow. One of `allow` and `deny` has to be there.'),
  only: z.union([hint, z.array(hint).min(1).max(10)]).optional().describe('Of tools alone that say this of themselves. It is believed of servers with `hints: believe`; of others no tool is allowed by it, and every tool denied.'),
  args: z.record(z.string().min(1).max(200), argument).optional().describe('What arguments of the call have to be, by name, or by JSON pointer such as "/filter/limit".'),
  time: z.strictObject({
    days: texts.optional().describe('"mon-fri", or days one by one. Default: every day.'),
    hours: z.string().optional().describe('"08:00-18:00", the end excluded. Default: all day.'),
    zone: z.string().optional().describe('The time zone, such as "Europe/Berlin". Default: UTC.'),
  }).optional().describe('When the rule holds.'),
  network: texts.optional().describe('Addresses and networks that the client connects from, "10.0.0.0/8". Behind a proxy see `security.trustedProxies`.'),
  when: z.string().min(1).max(4_000).optional().describe('A condition in CEL over `args`, `caller`, `method`, `server` and `name`.'),
  because: z.string().max(500).optional().describe('Told to whoever is refused: the reason, or whom to ask.'),
});

export const accessSchema = z.strictObject({
  default: z.enum(['allow', 'deny']).default('deny').describe('What holds where no rule says anything.'),
  mode: z.enum(['enforce', 'record']).default('enforce').describe('record: nothing is refused or hidden; what would be is logged and counted.'),
  rules: z.array(rule).max(1_000).default([]).describe('Deny goes over allow, and allow over `default`; their order means nothing.'),
});
