/** Which options are secret: those that say so in their documentation, and what stands below them. */
import { formatPath, type Path } from './problem.ts';
import { configJsonSchema } from './schema.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Also if its schema does not say so. */
const secretName = /(password|passphrase|secret|token|privateKey|seed|authorization|apiKey)$/i;
/** With `*` for a name that the operator gives, or a place in a list. */
let patterns: readonly (readonly string[])[] | undefined;

export function isSecretOption(path: Path): boolean {
  patterns ??= patternsOf(configJsonSchema(), []);
  if (secretName.test(formatPath(path.slice(-1)))) return true;
  return patterns.some(
    (pattern) => pattern.length <= path.length && pattern.every((step, index) => step === '*' || step === path[index]),
  );
}

function patternsOf(
  { description, properties = {}, additionalProperties, items, anyOf = [], oneOf = [] }: Schema,
  path: readonly string[],
): readonly (readonly string[])[] {
  if (description !== undefined && /\bSecret\b/.test(description)) return [path];
  return [
    ...Object.entries(properties).flatMap(([name, schema]) => patternsOf(schema, [...path, name])),
    ...(typeof additionalProperties === 'object' ? patternsOf(additionalProperties, [...path, '*']) : []),
    ...(items === undefined ? [] : patternsOf(items, [...path, '*'])),
    ...[...anyOf, ...oneOf].flatMap((schema) => patternsOf(schema, path)),
  ];
}
