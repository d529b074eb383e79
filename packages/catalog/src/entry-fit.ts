/**
 * Which members of an entry clients can read. A client checks a list as a whole, so one unfit entry would take the others from it. The rules are those of
 * the specification's schema (2025-11-25 and 2026-07-28: Tool, Prompt, Resource, ResourceTemplate) and of the official SDK's clients, 1.x and 2.x, whichever
 * is stricter.
 */
import { isObject, isRawNumber, numberOf, type JsonObject, type ListKind } from '@omnibus/protocol';

type Fits = (value: unknown) => boolean;
type Members = Readonly<Record<string, readonly [fits: Fits, words: string]>>;

const isText: Fits = (value) => typeof value === 'string';
const isFlag: Fits = (value) => typeof value === 'boolean';
const isTexts: Fits = (value) => Array.isArray(value) && value.every(isText);
const text = [isText, 'a string'] as const;
const object = [isObject, 'an object'] as const;
const flag = [isFlag, 'true or false'] as const;

/** Members of an icon (2025-11-25 schema, Icon). */
export const iconFits = {
  src: isText,
  mimeType: isText,
  sizes: isTexts,
  theme: (value) => value === 'light' || value === 'dark',
} as const satisfies Record<string, Fits>;

/** Members of `annotations` of a resource (2025-11-25 schema, Annotations). */
export const annotationFits = {
  audience: (value) => Array.isArray(value) && value.every((role) => role === 'user' || role === 'assistant'),
  priority: (value) => between(numberOf(value), 0, 1),
  lastModified: isTime,
} as const satisfies Record<string, Fits>;

const common: Members = {
  title: text,
  description: text,
  icons: [
    (value) => Array.isArray(value) && value.every((icon) => isObject(icon) && fitsAll(icon, iconFits, ['src'])),
    'icons with a "src"',
  ],
  _meta: object,
};
const ofResources: Members = {
  ...common,
  mimeType: text,
  annotations: [(value) => isObject(value) && fitsAll(value, annotationFits), 'annotations that clients can read'],
};
const membersOf: Record<ListKind, Members> = {
  tools: {
    ...common,
    outputSchema: object,
    annotations: object,
    execution: [
      (value) =>
        isObject(value) && [undefined, 'required', 'optional', 'forbidden'].includes(value['taskSupport'] as string),
      'an object whose taskSupport is "required", "optional" or "forbidden"',
    ],
  },
  prompts: { ...common, arguments: [(value) => Array.isArray(value), 'a list'] },
  resources: { ...ofResources, size: [(value) => numberOf(value) !== undefined, 'a number'] },
  resourceTemplates: ofResources,
};
const ofAnnotations: Members = {
  title: text,
  readOnlyHint: flag,
  destructiveHint: flag,
  idempotentHint: flag,
  openWorldHint: flag,
};
const ofSchema: Members = {
  $schema: text,
  properties: [
    (value) =>
      isObject(value) &&
      Object.values(value).every((each) => typeof each === 'object' && each !== null && !isRawNumber(each)),
    'an object of schemas',
  ],
  required: [isTexts, 'a list of strings'],
};
const ofArgument: Members = { title: text, description: text, required: flag };

/** @returns which member clients refuse and why, in words; undefined where they take the entry. */
export function unfitMember(kind: ListKind, entry: JsonObject): string | undefined {
  const problem = firstUnfit(entry, membersOf[kind], '');
  if (problem !== undefined) return problem;
  if (kind === 'tools') {
    const { annotations, inputSchema, outputSchema } = entry;
    return (
      (isObject(annotations) ? firstUnfit(annotations, ofAnnotations, 'annotations.') : undefined) ??
      (isObject(inputSchema) ? firstUnfit(inputSchema, ofSchema, 'inputSchema.') : undefined) ??
      (isObject(outputSchema) ? firstUnfit(outputSchema, ofSchema, 'outputSchema.') : undefined)
    );
  }
  const { arguments: list } = entry;
  if (kind !== 'prompts' || !Array.isArray(list)) return undefined;
  for (const [index, argument] of list.entries()) {
    const place = `arguments[${index}]`;
    if (!isObject(argument) || typeof argument['name'] !== 'string')
      return `"${place}" must be an object with a "name"`;
    const found = firstUnfit(argument, ofArgument, `${place}.`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The same for a schema alone. */
export function unfitSchema(schema: JsonObject): string | undefined {
  return firstUnfit(schema, ofSchema, '');
}

function firstUnfit(value: JsonObject, members: Members, place: string): string | undefined {
  for (const [name, [fits, words]] of Object.entries(members))
    if (value[name] !== undefined && !fits(value[name])) return `"${place}${name}" must be ${words}`;
  return undefined;
}

function fitsAll(value: JsonObject, fits: Readonly<Record<string, Fits>>, needed: readonly string[] = []): boolean {
  return Object.entries(fits).every(([name, isFit]) =>
    value[name] === undefined ? !needed.includes(name) : isFit(value[name]),
  );
}

function between(value: number | undefined, min: number, max: number): boolean {
  return value !== undefined && value >= min && value <= max;
}

const time = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** A date and time of ISO 8601 with its offset. */
function isTime(value: unknown): boolean {
  const day = typeof value === 'string' ? time.exec(value)?.[1] : undefined;
  if (day === undefined) return false;
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}
