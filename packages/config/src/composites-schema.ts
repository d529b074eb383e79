/** Composite tools: each is a declared sequence of calls of other tools, with arguments made from those of the caller and from earlier results. */
import { z } from 'zod';
import { hints } from './shape-schema.ts';
import { isMap } from './values.ts';
import { nonEmpty, offByDefault } from './plain-options.ts';

const maxSteps = 20;
/** Tools that the gateway itself has. */
const own: ReadonlySet<string> = new Set([
  'find_tools',
  'describe_tools',
  'call_tool',
  'find_api',
  'run_code',
  'read_result',
]);

const step = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,31}$/, { error: 'expected 1 to 32 characters of a-z, 0-9 and "_", with a letter first' })
    .describe('The name of the step, for later steps and for errors.'),
  call: z
    .string()
    .regex(/^[\w-]{1,64}\/.+$/, { error: 'expected `server/tool`, by the name that the server gives the tool' })
    .describe('The tool that the step calls: `server/tool`.'),
  arguments: z
    .record(z.string(), z.unknown())
    .default({})
    .describe(
      'The arguments of the call. In a text, `{args.NAME}` stands for an argument of the composite tool, and `{steps.ID.PATH}` for a part of the result of an earlier step; a path such as `items.0.title` leads into objects and lists. A text that is one such reference becomes the value itself, and an argument whose value the caller left out is left out.',
    ),
});

const composite = z
  .strictObject({
    title: nonEmpty.max(1_000).optional().describe('The title of the tool.'),
    description: nonEmpty.describe('The description of the tool, for models.'),
    inputSchema: z
      .record(z.string(), z.unknown())
      .refine((schema) => schema['type'] === 'object', { error: 'expected a JSON Schema with `type: object`' })
      .default({ type: 'object', properties: {} })
      .describe('The JSON Schema of the arguments of the tool. The gateway checks `required`; servers check the rest.'),
    annotations: hints.optional().describe('Hints about the tool. Default: none, which clients take for the worst.'),
    steps: z
      .array(step)
      .min(1)
      .max(maxSteps)
      .describe(
        'The calls, in order. Each passes all checks as if the client had made it. A failed step ends the tool.',
      ),
    result: z
      .unknown()
      .optional()
      .describe('The result, with references as in `arguments` of a step. Default: the result of the last step.'),
    hideSteps: offByDefault.describe(
      'Whether lists with this tool leave out the tools of its steps. They can still be called by their names.',
    ),
  })
  .superRefine(({ inputSchema, steps, result }, context) => {
    const known = new Set<string>();
    const { properties } = inputSchema;
    const report = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message });
    const check = (template: unknown, path: (string | number)[]): void => {
      if (Array.isArray(template)) for (const [index, each] of template.entries()) check(each, [...path, index]);
      else if (isMap(template)) for (const [key, each] of Object.entries(template)) check(each, [...path, key]);
      if (typeof template !== 'string') return;
      for (const { kind, name, text } of referencesIn(template)) {
        if (kind === 'steps' && !known.has(name)) report(path, `${text} names no earlier step`);
        if (kind === 'args' && !(isMap(properties) && Object.hasOwn(properties, name)))
          report(path, `${text} names no argument under \`properties\` of \`inputSchema\``);
      }
    };
    for (const [index, { id, arguments: given }] of steps.entries()) {
      check(given, ['steps', index, 'arguments']);
      if (known.has(id)) report(['steps', index, 'id'], `another step has the name "${id}" already`);
      known.add(id);
    }
    check(result, ['result']);
  });

export const compositesSchema = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: 'expected 1 to 64 characters of letters, digits, "_", "-" and "."' })
      .refine((name) => !own.has(name), { error: 'the gateway itself has a tool of this name' }),
    composite,
  )
  .default({});

interface Reference {
  readonly kind: 'args' | 'steps';
  /** The argument, or the step. */
  readonly name: string;
  readonly text: string;
}

export function* referencesIn(template: unknown): Iterable<Reference> {
  if (typeof template === 'string') {
    for (const [text, kind, name] of template.matchAll(/\{(args|steps)\.([^{}.]+)[^{}]*\}/g))
      yield { kind: kind as Reference['kind'], name: name as string, text };
  } else if (Array.isArray(template)) for (const each of template) yield* referencesIn(each);
  else if (isMap(template)) for (const each of Object.values(template)) yield* referencesIn(each);
}
