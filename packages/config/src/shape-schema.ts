/** The shape of a tool: what clients see of it in place of the server's own definition, and the arguments that the gateway fills in. */
import { isTemplate } from '@omnibus/protocol';
import { z } from 'zod';
import { nonEmpty } from './plain-options.ts';

const hint = (description: string) => z.boolean().optional().describe(description);

/** Hints about a tool (2025-03-26 server/tools, Tool Annotations). */
export const hints = z.strictObject({
  readOnlyHint: hint('Whether the tool changes nothing.'),
  destructiveHint: hint('Whether the tool may delete or overwrite.'),
  idempotentHint: hint('Whether a second call with the same arguments changes nothing more.'),
  openWorldHint: hint('Whether the tool reaches systems beyond its server.'),
});

const argument = z
  .strictObject({
    name: nonEmpty
      .max(128)
      .optional()
      .describe('The name that clients see and send. The server gets its own name. Default: the name of the server.'),
    description: z.string().optional().describe('Replaces the description that the server gives the argument.'),
    fixed: z
      .unknown()
      .optional()
      .describe(
        'The value that the server always gets. Clients neither see the argument nor may send it. A text may have facts about the caller, as in `default`. Secret.',
      ),
    default: z
      .unknown()
      .optional()
      .describe(
        'The value that the server gets if the client leaves the argument out; clients need not send it. In a text, `{principal.subject}`, `{principal.tenant}`, `{principal.groups}`, `{principal.issuer}` and `{principal.claims.NAME}` stand for proven facts about the caller; a call of a caller without such a fact is refused with `upstream.caller_fact`.',
      ),
  })
  .refine((shape) => !('fixed' in shape) || Object.keys(shape).length === 1, {
    error: 'an argument with a `fixed` value is hidden from clients: leave out its `name`, `description` and `default`',
  })
  .refine(({ fixed, default: value }) => ![fixed, value].some(hasInnerFact), {
    error:
      'facts about the caller such as {principal.subject} stand in a text alone, and not inside a list or an object',
  });

/** Whether a text inside a list or an object looks like a fact about the caller. The server would get the text itself. */
function hasInnerFact(value: unknown): boolean {
  return typeof value === 'object' && value !== null && isTemplate(JSON.stringify(value));
}

/** Options of one tool. */
export const shapeOptions = {
  title: nonEmpty.max(1_000).optional().describe('Replaces the title that the server gives the tool.'),
  description: z
    .string()
    .optional()
    .describe(
      'Replaces the description that the server gives the tool, at every endpoint (docs/how-to/shaping.md). `listing.descriptions` replaces it at one endpoint.',
    ),
  annotations: hints
    .optional()
    .describe(
      'Hints that replace those of the server. `access` rules rely on them, with `hints: ignore` too, since the operator wrote them.',
    ),
  arguments: z
    .record(z.string(), argument)
    .default({})
    .superRefine((shapes, context) => {
      const names = new Map<string, string>();
      for (const [original, { name = original, ...shape }] of Object.entries(shapes)) {
        if ('fixed' in shape) continue;
        const other = names.get(name);
        if (other !== undefined)
          context.addIssue({
            code: 'custom',
            path: [original, 'name'],
            message: `"${other}" has this name already, and two arguments of one name cannot be told apart`,
          });
        names.set(name, original);
      }
    })
    .describe('Arguments that clients see otherwise, keyed by the names that the server gives them.'),
};
