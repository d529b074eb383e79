/** The OpenAPI document of the API, made from the same schemas against which its answers are checked. */
import { z } from 'zod';
import { base, changeHeader, idempotencyHeader, operations, type Operation } from './operations.ts';
import { problem } from './problem.ts';

type Json = Readonly<Record<string, unknown>>;

/** @param version of the gateway. */
export function openApi(version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const [id, operation] of Object.entries<Operation>(operations))
    paths[`${base}${operation.path}`] = {
      ...paths[`${base}${operation.path}`],
      [operation.method]: describe(id, operation),
    };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Omnibus: admin API',
      version,
      license: { name: 'MIT' },
      description: 'Served at the admin port. Members are only ever added within v1: ignore those you do not know.',
    },
    paths,
    components: {
      schemas: { Problem: schemaOf(problem) },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An API key or token of somebody whom `auth.admin.roles` names. Without `auth.admin`, whoever asks from this machine needs none.',
        },
      },
    },
    security: [{ bearer: [] }, {}],
  };
}

function describe(
  id: string,
  { method, path, summary, query, body, answer, type, status = 200, isRepeatable = true }: Operation,
): Json {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery =
    query === undefined
      ? []
      : Object.entries(query.shape).map(([name, schema]) => {
          const { description, ...rest } = schemaOf(schema as z.ZodType);
          return { name, in: 'query', ...(description === undefined ? {} : { description }), schema: rest };
        });
  const key = {
    name: idempotencyHeader,
    in: 'header',
    description:
      'The same change of the same caller with the same key within ten minutes is made once, and answered as the first was; a failed one may be tried again. The key with another change, query or body is refused (422, `reused`).',
    schema: { type: 'string', pattern: '^[\\x21-\\x7E]{1,200}$' },
  };
  const header =
    method === 'get'
      ? []
      : [{ name: changeHeader, in: 'header', required: true, schema: { const: '1' } }, ...(isRepeatable ? [key] : [])];
  const parameters = [...inPath, ...inQuery, ...header];
  return {
    operationId: id,
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body) } } } }),
    responses: {
      [status]: {
        description: status === 202 ? 'Begun.' : 'Done.',
        content: { [type ?? 'application/json']: { schema: answer === undefined ? {} : schemaOf(answer) } },
      },
      default: {
        description: 'A problem.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  };
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _draft, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Record<
    string,
    unknown
  >;
  return rest;
}
