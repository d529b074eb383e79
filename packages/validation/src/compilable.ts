/**
 * Whether the official SDK's clients can compile an output schema. Version 1.x compiles the schemas of a whole list with the draft-07 class of Ajv and
 * refuses the list if one fails; 2.x chooses the class by `$schema` and refuses calls of the tool. Patterns are compiled here and never run.
 */
import type { JsonObject } from '@omnibus/protocol';
import { Ajv, type Options } from 'ajv';
import addFormats from 'ajv-formats';
import { ajvClassOf } from './dialect.ts';

/** Characters of a schema. Compiling one of this size takes tens of milliseconds. */
const maxCharacters = 32 * 1024;
const maxProblemCharacters = 300;

/** What those clients set, except that no reference is copied into its place, which changes nothing but the size of the code. */
const options: Options = {
  strict: false,
  validateFormats: true,
  validateSchema: false,
  allErrors: true,
  inlineRefs: false,
  logger: false,
};

/** @returns why a client cannot compile the schema; undefined where each can. */
export function clientProblem(schema: JsonObject): string | undefined {
  if (JSON.stringify(schema).length > maxCharacters)
    return `it is longer than ${maxCharacters} characters, and not plain enough to be known as sound`;
  for (const AjvClass of new Set([Ajv, ajvClassOf(schema['$schema'])])) {
    const ajv = new AjvClass(options);
    addFormats.default(ajv);
    try {
      ajv.compile(schema);
    } catch (error) {
      // Ajv follows references that are references until the stack is full.
      if (error instanceof RangeError) return 'its references lead in a circle';
      return (error as Error).message.slice(0, maxProblemCharacters);
    }
  }
  return undefined;
}
