/** Security schemes of a document (OpenAPI 3.1, 4.8.27; Swagger 2.0, Security Scheme Object) as places of requests. */
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { OpenApiDocument } from './document.ts';
import type { SchemePlan } from './plan.ts';

const maxAlternatives = 16;

/** Schemes by their names; those that cannot be read count as unknown. */
export function schemesOf({ root, refs, version }: OpenApiDocument): ReadonlyMap<string, SchemePlan> {
  const { components } = root;
  const named =
    version === '2.0' ? root['securityDefinitions'] : isObject(components) ? components['securitySchemes'] : undefined;
  if (!isObject(named)) return new Map();
  return new Map(
    Object.entries(named).flatMap(([name, value]): readonly (readonly [string, SchemePlan])[] => {
      try {
        return [[name, planOf(name, refs.object(value, name))]];
      } catch {
        return [];
      }
    }),
  );
}

function planOf(name: string, { type, in: place, name: parameter, scheme }: JsonObject): SchemePlan {
  if (type === 'apiKey' && typeof parameter === 'string' && isPlace(place)) return { name, kind: place, parameter };
  const word = typeof scheme === 'string' ? scheme.toLowerCase() : '';
  if (type === 'basic' || (type === 'http' && word === 'basic')) return { name, kind: 'basic', parameter: '' };
  if (type === 'oauth2' || type === 'openIdConnect' || (type === 'http' && word === 'bearer'))
    return { name, kind: 'bearer', parameter: '' };
  return { name, kind: 'other', parameter: '' };
}

function isPlace(place: unknown): place is 'header' | 'query' | 'cookie' {
  return place === 'header' || place === 'query' || place === 'cookie';
}

/** @param said `security` of an operation, else that of the document. */
export function securityOf(
  said: unknown,
  schemes: ReadonlyMap<string, SchemePlan>,
): readonly (readonly SchemePlan[])[] {
  if (!Array.isArray(said)) return [];
  return said.slice(0, maxAlternatives).flatMap((each: unknown) => {
    if (!isObject(each)) return [];
    const plans = Object.keys(each).map((name) => schemes.get(name));
    return plans.every((plan) => plan !== undefined) ? [plans] : [];
  });
}
