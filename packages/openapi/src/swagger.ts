/** Reads the parts of a Swagger 2.0 document as those of OpenAPI 3.0, one operation at a time, so that nothing of the document is copied. */
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { OpenApiDocument } from './document.ts';
import { DocumentProblem } from './problem.ts';

/** Styles for `collectionFormat` (Swagger 2.0, Parameter Object). */
const styles: Readonly<Record<string, JsonObject>> = {
  ssv: { style: 'spaceDelimited', explode: false },
  pipes: { style: 'pipeDelimited', explode: false },
  multi: { style: 'form', explode: true },
};
const ofParameter = new Set(['name', 'in', 'description', 'required', 'collectionFormat', 'schema', 'allowEmptyValue']);

interface Modern {
  readonly parameters: readonly JsonObject[];
  readonly requestBody: JsonObject | undefined;
}

/** @param parameters without references. */
export function modernParameters(parameters: readonly JsonObject[], consumes: unknown): Modern {
  const body = parameters.find((each) => each['in'] === 'body');
  const form = parameters.filter((each) => each['in'] === 'formData');
  return {
    parameters: parameters
      .filter((each) => each['in'] !== 'body' && each['in'] !== 'formData')
      .map((each) => ({ ...each, ...styleOf(each), schema: schemaOf(each) })),
    requestBody: body === undefined ? formOf(form, consumes) : bodyOf(body, consumes),
  };
}

/** @param response without references. */
export function modernResponse(response: JsonObject, produces: unknown): JsonObject {
  const { schema } = response;
  if (schema === undefined) return response;
  const isFile = isObject(schema) && schema['type'] === 'file';
  const said = textsOf(produces);
  const kinds = said.length > 0 ? said : [isFile ? 'application/octet-stream' : 'application/json'];
  return { ...response, content: Object.fromEntries(kinds.map((kind) => [kind, { schema }])) };
}

/** The servers, the first of which is used (`schemes`, `host`, `basePath`). */
export function modernServers({ root }: OpenApiDocument): readonly JsonObject[] {
  const { host, basePath, schemes } = root;
  const path = typeof basePath === 'string' ? basePath : '/';
  if (typeof host !== 'string') return [{ url: path }];
  const said = textsOf(schemes);
  return [{ url: `${said.includes('https') || said.length === 0 ? 'https' : (said[0] as string)}://${host}${path}` }];
}

function styleOf({ in: place, collectionFormat }: JsonObject): JsonObject {
  const usual = place === 'query' ? { style: 'form', explode: false } : {};
  return typeof collectionFormat === 'string' ? (styles[collectionFormat] ?? usual) : usual;
}

/** The members of a parameter that make up its schema. */
function schemaOf(parameter: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(parameter).filter(([name]) => !ofParameter.has(name)));
}

function bodyOf({ schema, description, required }: JsonObject, consumes: unknown): JsonObject {
  const [kind = 'application/json'] = textsOf(consumes);
  return { description, required, content: { [kind]: { schema } } };
}

function formOf(form: readonly JsonObject[], consumes: unknown): JsonObject | undefined {
  if (form.length === 0) return undefined;
  const nameless = form.find(({ name }) => typeof name !== 'string');
  if (nameless !== undefined) throw new DocumentProblem('parameters', 'a member of its form has no name');
  const hasFile = form.some((each) => each['type'] === 'file');
  const said = textsOf(consumes);
  const isMultipart = hasFile || (said.includes('multipart/form-data') && !said.includes(urlEncoded));
  const properties = Object.fromEntries(
    form.map((each) => [
      String(each['name']),
      {
        ...schemaOf(each),
        description: each['description'],
        ...(each['type'] === 'file' ? { type: 'string', format: 'binary' } : {}),
      },
    ]),
  );
  const required = form.filter((each) => each['required'] === true).map((each) => String(each['name']));
  const encoding = Object.fromEntries(form.map((each) => [String(each['name']), fieldOf(each)]));
  return {
    required: required.length > 0,
    content: {
      [isMultipart ? 'multipart/form-data' : urlEncoded]: {
        schema: { type: 'object', properties, required },
        encoding,
      },
    },
  };
}

const urlEncoded = 'application/x-www-form-urlencoded';

function fieldOf({ collectionFormat }: JsonObject): JsonObject {
  return typeof collectionFormat === 'string'
    ? (styles[collectionFormat] ?? { style: 'form', explode: false })
    : { style: 'form', explode: false };
}

function textsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
}
