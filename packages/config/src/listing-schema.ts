/** How many of the tools of an endpoint its list shows, and how the others are found. */
import { z } from 'zod';
import { offByDefault, textMap } from './plain-options.ts';

const mode = z.enum(['full', 'search', 'code']);

/** @param toolGlob a glob over `server/tool`. */
export function listingSchema(toolGlob: z.ZodType<string, string>) {
  const parts = z.strictObject({
    mode: mode.default('full').describe('The same as the word alone.'),
    show: z
      .array(toolGlob)
      .default([])
      .describe(
        'Globs over `server/tool`. With `search` and `code`, these tools are listed beside those of the gateway; with `full` and a `budget`, they are listed first.',
      ),
    budget: z
      .strictObject({
        tools: z.int().min(0).optional().describe('Most tools of servers in the list. Default: no bound.'),
        tokens: z
          .int()
          .min(0)
          .optional()
          .describe('Most tokens that the listed tools of servers cost, counted as characters / 4. Default: no bound.'),
      })
      .prefault({})
      .describe(
        'Bounds on the tools that are listed. Tools beyond them stay callable: the list then begins with `find_tools`, `describe_tools` and `call_tool`.',
      ),
    slim: offByDefault.describe(
      'Whether definitions of tools lose characters that say nothing: titles that repeat a name, `examples`, `$schema`, empty objects, indentation. `omnibus tokens` shows the effect.',
    ),
    descriptions: textMap.describe('Descriptions that replace those of servers, keyed by `server/tool`.'),
  });
  return z
    .union([mode, parts])
    .transform((given) => (typeof given === 'string' ? parts.parse({ mode: given }) : given));
}
