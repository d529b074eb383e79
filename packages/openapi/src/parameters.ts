/** Parameters of an operation as arguments of its tool (OpenAPI 3.1, 4.8.12). */
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import type { SchemaWriter } from './json-schema.ts';
import { argumentName } from './names.ts';
import type { ParameterPlan, Place } from './plan.ts';
import { DocumentProblem } from './problem.ts';

interface Arguments {
  readonly properties: JsonObject;
  readonly required: readonly string[];
  readonly plans: readonly ParameterPlan[];
}

const maxParameters = 300;
const places = new Set<unknown>(['path', 'query', 'header', 'cookie']);
const styles: Record<Place, readonly string[]> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
};
/** Headers that the request itself decides (OpenAPI 3.1, 4.8.12.2.1; RFC 9110, 7.6.1). */
const ownHeaders = new Set(
  'accept content-type authorization host connection content-length transfer-encoding expect upgrade keep-alive te trailer proxy-authorization'.split(
    ' ',
  ),
);
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * @param parameters without references.
 * @throws {DocumentProblem} if the operation cannot be called with them.
 */
export function argumentsOf(
  parameters: readonly JsonObject[],
  {
    writer,
    taken,
    path,
    place,
  }: { readonly writer: SchemaWriter; readonly taken: Set<string>; readonly path: string; readonly place: string },
): Arguments {
  if (parameters.length > maxParameters)
    throw new DocumentProblem(place, `it has more than ${maxParameters} parameters`);
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  const plans: ParameterPlan[] = [];
  for (const parameter of parameters) {
    const plan = planOf(parameter, taken, place);
    if (plan === undefined) continue;
    const { content, schema, description } = parameter;
    const media = isObject(content) ? Object.values(content)[0] : undefined;
    const written = writer.write(isObject(media) ? media['schema'] : schema);
    if (typeof description === 'string' && description !== '' && written['description'] === undefined)
      Object.assign(written, writer.write({ description }));
    properties[plan.argument] = written;
    if (plan.isRequired) required.push(plan.argument);
    plans.push(plan);
  }
  // A document that forgets a parameter of its path still shows its name.
  for (const [, name] of path.matchAll(/\{([^{}]+)\}/g)) {
    if (plans.some((plan) => plan.in === 'path' && plan.name === name)) continue;
    const plan = planOf({ name, in: 'path' }, taken, place) as ParameterPlan;
    properties[plan.argument] = { type: 'string' };
    required.push(plan.argument);
    plans.push(plan);
  }
  return { properties, required, plans };
}

/** A value of a document for a problem. A member named `toString` would make `String` throw. */
function shown(value: unknown, length: number): string {
  return typeof value === 'string' ? JSON.stringify(printable(value, length)) : `a value of type ${typeof value}`;
}

/** @returns undefined for one that the gateway sets itself. */
function planOf(parameter: JsonObject, taken: Set<string>, place: string): ParameterPlan | undefined {
  const { name, in: where, required, content, allowReserved } = parameter;
  if (typeof name !== 'string' || name === '' || !places.has(where))
    throw new DocumentProblem(
      place,
      `its parameter ${shown(name, 100)} is in ${shown(where, 40)}: path, query, header and cookie are known`,
    );
  const at = where as Place;
  if (at === 'header' && ownHeaders.has(name.toLowerCase())) return undefined;
  if ((at === 'header' || at === 'cookie') && !headerName.test(name))
    throw new DocumentProblem(place, `${JSON.stringify(printable(name, 100))} cannot be the name of a ${at}`);
  const style = typeof parameter['style'] === 'string' ? parameter['style'] : (styles[at][0] as string);
  if (!styles[at].includes(style))
    throw new DocumentProblem(
      place,
      `the style ${JSON.stringify(printable(style, 40))} of its parameter ${JSON.stringify(printable(name, 100))} is not one for ${at}`,
    );
  return {
    name,
    argument: argumentName(name, at, taken),
    in: at,
    style,
    explode: typeof parameter['explode'] === 'boolean' ? parameter['explode'] : style === 'form',
    isRaw: at === 'query' && allowReserved === true,
    isRequired: required === true || at === 'path',
    isJson: isObject(content),
  };
}
