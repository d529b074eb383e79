/**
 * Schemas of servers, compiled once and checked often. A schema comes from outside: nothing is fetched for it, what would take too long to
 * check is not compiled, and its patterns run in time that grows with the text alone (RE2, no backtracking).
 *
 * Source: 2025-11-25 and 2026-07-28 server/tools, "Input Schema" and "Output Schema": JSON Schema 2020-12 unless `$schema` says otherwise;
 * clients and servers should validate against them.
 */
import { holdsRawNumbers, isObject, isRawNumber, type JsonObject } from '@omnibus/protocol';
import type { Ajv, ErrorObject, Options } from 'ajv';
import addFormats from 'ajv-formats';
import { RE2JS } from 're2js';
import { BudgetExhausted, counted, stepsOf, type Budget } from './budget.ts';
import { ajvClassOf } from './dialect.ts';

/**
 * @returns the problem of a value, in words that name the member; `ok` if it is valid, `unchecked` if the check would take too long.
 */
export type Validate = (value: unknown) => 'ok' | 'unchecked' | { readonly problem: string };

export type CompiledSchema =
  | { readonly kind: 'usable'; readonly validate: Validate }
  | { readonly kind: 'unusable'; readonly problem: string };

/** Characters of a schema. Compiling one of this size takes tens of milliseconds. */
const maxSchemaCharacters = 256 * 1024;
/** Bound on reported problems of one value; a caller fixes one at a time anyway. */
const maxProblems = 5;
const maxProblemCharacters = 1_000;

const options: Options = {
  // Schemas in the wild use keywords and formats of their own.
  strict: false,
  // The first problems are enough, and the order of checks decides their duration.
  allErrors: false,
  validateFormats: true,
  logger: false,
  addUsedSchema: false,
  // The compiler rejects an odd schema; one of an unknown dialect counts as the latest.
  validateSchema: false,
  inlineRefs: false,
  code: { regExp: linearPattern, process: counted },
};

/** @param schema as a server gave it. */
export function compileSchema(schema: JsonObject): CompiledSchema {
  const steps = stepsOf(schema);
  if (typeof steps === 'string') return { kind: 'unusable', problem: steps };
  if (JSON.stringify(schema).length > maxSchemaCharacters)
    return { kind: 'unusable', problem: `it is longer than ${maxSchemaCharacters} characters` };
  const budget: Budget = { left: steps, exhausted: new BudgetExhausted('the check was given up') };
  try {
    const validate = Object.assign(validatorOf(schema['$schema']), { budget }).compile(schema);
    return {
      kind: 'usable',
      validate(value) {
        budget.left = steps;
        try {
          // A validator knows no raw numbers; most values have none, which is known without looking through them, and are not copied.
          return validate(holdsRawNumbers(value) ? plain(value) : value)
            ? 'ok'
            : { problem: inWords(validate.errors ?? []) };
        } catch (error) {
          // A schema that refers to itself for the same value goes deeper than any stack.
          if (error instanceof BudgetExhausted || error instanceof RangeError) return 'unchecked';
          // The library compares objects by these members, which a value may replace. It counts against the sender of the value.
          if (error instanceof TypeError)
            return {
              problem: 'an object has a member valueOf or toString, and cannot be compared with what is allowed',
            };
          throw error;
        }
      },
    };
  } catch (error) {
    // A reference to another document ends here too: none is ever fetched.
    return { kind: 'unusable', problem: (error as Error).message.slice(0, maxProblemCharacters) };
  }
}

/** An instance of its own for each schema: two servers may use one `$id`. */
function validatorOf(dialect: unknown): Ajv {
  const ajv = new (ajvClassOf(dialect))(options);
  addFormats.default(ajv, { mode: 'fast' });
  // The one that comes with it compares every item with every other.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isWanted: boolean, items: readonly unknown[]) =>
      !isWanted || new Set(items.map(canonical)).size === items.length,
  });
  return ajv;
}

/** Equal values have equal texts, whatever the order of their members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join()}}`;
}

/** A pattern of ECMAScript as RE2 knows it. Constructs that RE2 cannot match in linear time (looking around, back references) count as fulfilled. */
function linearPattern(pattern: string): { test(text: string): boolean } {
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return { test: (text) => compiled.matcher(text).find() };
  } catch {
    return { test: () => true }; // A pattern that RE2 cannot judge does not refuse a schema.
  }
}
linearPattern.code = 'linearPattern';

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isRawNumber(value)) return Number(value.rawJSON);
  return Array.isArray(value)
    ? value.map(plain)
    : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

function inWords(errors: readonly ErrorObject[]): string {
  const problems = errors.slice(0, maxProblems).map(({ instancePath, message, params, keyword }) => {
    const where =
      instancePath === ''
        ? 'the value'
        : instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
    const { additionalProperty, allowedValues } = params as {
      readonly additionalProperty?: string;
      readonly allowedValues?: unknown;
    };
    const more =
      additionalProperty !== undefined
        ? ` (${JSON.stringify(additionalProperty)})`
        : keyword === 'enum'
          ? `: ${JSON.stringify(allowedValues)}`
          : '';
    return `${where} ${message ?? 'is not valid'}${more}`;
  });
  return problems.join('; ').slice(0, maxProblemCharacters);
}
