/** Arguments of a client as the server of a shaped tool gets them. */
import { bare } from '@omnibus/catalog';
import { argumentFor, isObject, type JsonObject, type Who } from '@omnibus/protocol';
import { hasProperty, isFact, isHidden, propertyOf, shownName, type ToolShape } from './schema.ts';

export type ServerArguments =
  | { readonly arguments: JsonObject }
  /** The client has sent an argument by a name that only the server uses. */
  | { readonly unknown: string }
  /** A configured value needs a fact that the caller does not have. */
  | { readonly fact: string; readonly problem: string };

/**
 * @param given of the client.
 * @param schema that the server gives the tool; undefined if it is not known.
 * @param who undefined for an anonymous caller.
 */
export function argumentsFor(
  { arguments: shapes }: ToolShape,
  given: JsonObject,
  schema: unknown,
  who: Who | undefined,
): ServerArguments {
  const originals = new Map<string, string>();
  const moved = new Set<string>();
  /** Names of hidden arguments as a server may read them that reads names loosely. */
  const hidden = new Set<string>();
  for (const [original, shape] of Object.entries(shapes)) {
    if (isHidden(shape)) hidden.add(bare(original));
    else originals.set(shownName(original, shape), original);
    if (isHidden(shape) || shape.name !== undefined) moved.add(original);
  }
  const made = new Map<string, unknown>();
  for (const [name, value] of Object.entries(given)) {
    const original = originals.get(name);
    if (original === undefined && (moved.has(name) || (hidden.has(bare(name)) && !hasProperty(schema, name))))
      return { unknown: name };
    made.set(original ?? name, value);
  }
  for (const [original, shape] of Object.entries(shapes)) {
    const option = 'fixed' in shape ? 'fixed' : 'default' in shape && !made.has(original) ? 'default' : undefined;
    if (option === undefined) continue;
    const value = valueFor(shape[option], propertyOf(schema, original), who);
    if ('fact' in value) return value;
    made.set(original, value.value);
  }
  return { arguments: Object.fromEntries(made) };
}

function valueFor(
  value: unknown,
  property: unknown,
  who: Who | undefined,
): { readonly value: unknown } | { readonly fact: string; readonly problem: string } {
  if (!isFact(value)) return { value };
  const found = argumentFor(value, who);
  if (!('text' in found)) return found;
  const typed = typedFact(found.text, isObject(property) ? property['type'] : undefined);
  return typed === undefined
    ? { fact: value, problem: 'the value of this caller does not have the type that the server wants' }
    : { value: typed };
}

/** A fact in the type that the server wants. @returns undefined if it cannot have it. */
function typedFact(text: string, type: unknown): unknown {
  const types = Array.isArray(type) ? type : [type];
  if (types.includes(undefined) || types.includes('string')) return text;
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  const number = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  const isFit = types.includes('number')
    ? Number.isFinite(number)
    : types.includes('integer') && Number.isSafeInteger(number);
  return isFit ? number : undefined;
}
