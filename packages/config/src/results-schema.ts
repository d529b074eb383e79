/** How much of a tool's result a model gets at once, and how long the rest stays readable. */
import { z } from 'zod';
import { givenDuration } from './plain-options.ts';

const mebibyte = 1_024 * 1_024;
const hourMs = 3_600_000;
/** A preview has a line about the result and a link to it. */
const minTokens = 200;
const bound = z.int().min(minTokens);

/** @param toolGlob a glob over `server/tool`. */
export function resultsSchema(toolGlob: z.ZodType<string, string>) {
  return z.union([
    z.literal('off'),
    z.strictObject({
      maxTokens: bound
        .optional()
        .describe(
          'Most tokens of the result of one call, counted as characters / 4. A larger result is stored, and the client gets a preview and a link. Default: no bound but those of `tools` and `clients`.',
        ),
      tools: z
        .record(toolGlob, z.union([bound, z.literal('off')]))
        .default({})
        .describe(
          'Bounds of single tools in place of `maxTokens`, by globs over `server/tool`; the first that fits counts. off: no bound.',
        ),
      clients: z
        .record(z.string(), bound)
        .default({})
        .describe(
          'Bounds of single clients, by globs over the name that a client gives itself. Of the bounds of tool and client the smaller one counts.',
        ),
      structured: z
        .enum(['omit', 'whole'])
        .default('omit')
        .describe(
          'omit: a result over its bound has no `structuredContent`, and tools with a bound are listed without `outputSchema`, so that no client expects it. whole: `structuredContent` and `outputSchema` stay, and the bound is for `content` alone.',
        ),
      keep: givenDuration
        .refine((ms) => ms <= 24 * hourMs, { error: 'expected a time of at most 24h' })
        .prefault('1h')
        .describe('How long a stored result can be read; at most 24h.'),
      maxBytes: z
        .int()
        .positive()
        .max(64 * mebibyte)
        .default(16 * mebibyte)
        .describe(
          'Most bytes of stored results of one caller; the oldest make room. A single result that is larger is not stored.',
        ),
      maxResults: z
        .int()
        .positive()
        .max(1_000)
        .default(100)
        .describe('Most stored results of one caller; the oldest make room.'),
    }),
  ]);
}
