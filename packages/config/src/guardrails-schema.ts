/**
 * The schema of guardrails in the configuration (`docs/how-to/guardrails.md`). The contents of their texts are checked when they are compiled
 * (`policy/guardrails`).
 */
import { z } from 'zod';
import { conditions, optionalTexts, texts, who } from './access-schema.ts';
import { givenDuration, httpUrl, nonEmpty, ruleId, textMap } from './plain-options.ts';

const stage = z.enum(['requests', 'results', 'questions', 'lists']);
const hidden = z.enum(['tags', 'zeroWidth', 'bidi', 'selectors', 'control']);
const characters = z.int().positive().max(1_000_000_000).optional();
/** Bound on the time of an external check, since the message and its client wait for it. */
const maxTimeoutMs = 60_000;

const guardrail = z.strictObject({
  id: ruleId.describe('Name of the guardrail in logs, metrics, records and labels.'),
  who: who
    .default('everyone')
    .describe('Callers whose messages it inspects; written like `who` of a rule under `access`.'),
  except: who.optional().describe('Callers whose messages it skips; written like `who`.'),
  what: texts
    .default('*')
    .describe("Targets of the messages: globs as under `allow` of a rule under `access`, with the server's own names."),
  ...conditions,
  on: z
    .union([stage, z.array(stage).min(1).max(4)])
    .optional()
    .describe(
      'Messages that it inspects. requests: messages of clients, with their answers to questions of servers. results: answers of servers, and their messages during a call. questions: requests of servers to clients. lists: entries of lists, and instructions; only for a guardrail about everyone. Default: depends on the kind of guardrail.',
    ),
  size: z
    .strictObject({
      arguments: characters.describe('Most characters of JSON that the arguments of a call may have.'),
      result: characters.describe('Most characters of JSON that a result may have.'),
      text: characters.describe('Most characters of any single text in a message.'),
    })
    .optional()
    .describe(
      'Finds messages that are too large. A guardrail has one of `size`, `patterns`, `hidden`, `urls`, `markers`, `webhook` and `tool`.',
    ),
  patterns: optionalTexts.describe(
    'Finds secrets and personal data: "email", "card", "iban", "key", or patterns of your own, as under `patterns` of a rule that redacts.',
  ),
  unreadable: z
    .enum(['withhold', 'pass'])
    .optional()
    .describe(
      'Whether contents that a guardrail with `patterns` cannot search (images, audio and other binary contents, messages of more than 1,048,576 characters) count as found. Default: withhold: they do.',
    ),
  hidden: z
    .union([z.literal('all'), hidden, z.array(hidden).min(1).max(5)])
    .optional()
    .describe(
      'Finds characters that a person does not see: tags (which spell hidden text), zeroWidth, bidi (which reorder text), selectors (variation selectors that belong to no pictograph), control; or "all".',
    ),
  urls: z
    .strictObject({
      hosts: z
        .array(nonEmpty.max(300))
        .max(1_000)
        .describe('Hosts that are allowed, as globs: "docs.example.com", "*.example.com", "localhost:8080".'),
      only: z
        .literal('images')
        .optional()
        .describe(
          'images: only addresses that clients load without being asked, as those of images in Markdown. Default: all addresses.',
        ),
    })
    .optional()
    .describe('Finds addresses of hosts that are not allowed.'),
  markers: z
    .literal(true)
    .optional()
    .describe('Finds phrases that speak to a model, as attempts at prompt injection do. They are only ever labelled.'),
  webhook: z
    .strictObject({
      url: httpUrl.describe(
        'The address that each message is posted to, as the `interceptor/invoke` request of SEP-2624.',
      ),
      headers: textMap.describe('HTTP headers of the request, for example `Authorization`. Secret.'),
    })
    .optional()
    .describe('Asks a program of your own over HTTP.'),
  tool: z
    .string()
    .min(3)
    .max(300)
    .optional()
    .describe(
      'Asks a tool of a server under `mcpServers`: "server/tool", with the name that the server itself gives. Its arguments are the parameters of `interceptor/invoke` of SEP-2624.',
    ),
  config: z.record(z.string(), z.unknown()).optional().describe('Sent along with each request (`config` of SEP-2624).'),
  timeout: givenDuration
    .refine((ms) => ms > 0 && ms <= maxTimeoutMs, { error: 'expected a time of at most 60s' })
    .optional()
    .describe('Time limit for the external verdict, at most 60s. Default: 2s.'),
  onFailure: z
    .enum(['deny', 'allow'])
    .optional()
    .describe('How to treat a message without a valid verdict in time. Default: deny.'),
  concurrency: z
    .int()
    .positive()
    .max(10_000)
    .optional()
    .describe(
      'Concurrent requests for verdicts at one session worker; four times as many wait. One caller never takes all of these places. Default: 32.',
    ),
  action: z
    .enum(['deny', 'change', 'label'])
    .optional()
    .describe(
      'How to treat a message with a finding. deny: the sender gets an error. change: the gateway removes the finding. label: the gateway passes it on with a label. Default: deny for `size`, label for `markers`, change for others; an external verdict decides itself.',
    ),
  label: nonEmpty
    .max(100)
    .optional()
    .describe('The word of the label. Default: the kind of the guardrail, such as "markers".'),
  because: nonEmpty.max(500).optional().describe('Text for the user when a message is denied.'),
  mode: z
    .enum(['enforce', 'record'])
    .default('enforce')
    .describe('record: nothing is denied, changed or labelled; what would be is logged, counted and put on record.'),
});

export const guardrailsSchema = z
  .array(guardrail)
  .max(200)
  .default([])
  .refine((all) => new Set(all.map(({ id }) => id)).size === all.length, { error: 'two guardrails have one id' });
