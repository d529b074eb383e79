/** Values from references: `{args.NAME}` and `{steps.ID.PATH}` in the arguments of steps and in the result of a composite tool. */
import { isObject, isRawNumber, type JsonObject } from '@omnibus/protocol';

/** What references lead into. */
export interface Sources {
  readonly args: JsonObject;
  readonly steps: JsonObject;
}

/** A reference that leads to no value that can stand where it stands, in words for the caller. */
export class MappingError extends Error {}

const whole = /^\{((?:args|steps)\.[^{}]+)\}$/;
const part = /\{((?:args|steps)\.[^{}]+)\}/g;

/**
 * The value of a template. Members and items that are an absent argument of the caller are left out.
 * @returns undefined for a template that is an absent argument.
 * @throws {MappingError} if a result has no such part, or a text would hold an object.
 */
export function mapped(template: unknown, from: Sources): unknown {
  if (typeof template === 'string') return ofText(template, from);
  if (Array.isArray(template)) return template.map((each) => mapped(each, from)).filter((each) => each !== undefined);
  if (!isObject(template)) return template;
  return Object.fromEntries(
    Object.entries(template).flatMap(([name, each]) => {
      const value = mapped(each, from);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function ofText(text: string, from: Sources): unknown {
  const [, only] = whole.exec(text) ?? [];
  if (only !== undefined) return valueAt(only, from);
  return text.replaceAll(part, (reference, path: string) => {
    const value = valueAt(path, from);
    if (value === undefined) throw new MappingError(`${reference} has no value`);
    // A number that a double cannot hold.
    if (isRawNumber(value)) return value.rawJSON;
    if (typeof value === 'object') throw new MappingError(`${reference} is no text, number or truth value`);
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

/** @returns undefined for an absent argument of the caller. */
function valueAt(path: string, from: Sources): unknown {
  const [kind, ...names] = path.split('.');
  let value: unknown = kind === 'args' ? from.args : from.steps;
  for (const name of names) {
    value = memberOf(value, name);
    if (value === undefined) {
      if (kind === 'args') return undefined;
      throw new MappingError(`the result of the step ${JSON.stringify(names[0])} has no part {${path}}`);
    }
  }
  return value;
}

function memberOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return /^(0|[1-9]\d{0,8})$/.test(name) ? (value as unknown[])[Number(name)] : undefined;
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
