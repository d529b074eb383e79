/** Bodies of requests as the argument `body` of a tool (OpenAPI 3.1, 4.8.13 to 4.8.15). */
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { OpenApiDocument } from './document.ts';
import type { SchemaWriter } from './json-schema.ts';
import { argumentName } from './names.ts';
import type { BodyKind, BodyPlan, FieldPlan } from './plan.ts';

interface Body {
  readonly plan: BodyPlan;
  readonly schema: JsonObject;
}

/** Kinds in the order in which they are preferred. */
const kinds: readonly (readonly [BodyKind, RegExp])[] = [
  ['json', /^application\/(.+\+)?json\b/],
  ['multipart', /^multipart\/form-data\b/],
  ['form', /^application\/x-www-form-urlencoded\b/],
  ['text', /^(text\/|application\/(.+\+)?(xml|yaml|x-yaml|graphql|x-ndjson|jwt)\b)/],
];
/** Headers of parts and of requests have visible characters only. */
const mediaType = /^[\w!#$&^.+*/-]+(\s*;[\x20-\x7E]*)?$/;
const file: JsonObject = {
  type: 'object',
  description: 'A file: `base64` for any content, or `text`.',
  properties: {
    base64: { type: 'string' },
    text: { type: 'string' },
    filename: { type: 'string' },
    mimeType: { type: 'string' },
  },
};

/** @throws {DocumentProblem} */
export function bodyOf(
  document: OpenApiDocument,
  requestBody: unknown,
  { writer, taken, place }: { readonly writer: SchemaWriter; readonly taken: Set<string>; readonly place: string },
): Body | undefined {
  if (requestBody === undefined) return undefined;
  const said = document.refs.object(requestBody, `${place}.requestBody`);
  const content = isObject(said['content']) ? said['content'] : {};
  const [name, media] = chosen(content) ?? ['application/json', {}];
  const kind = kindOf(name);
  const schema = isObject(media) ? media['schema'] : undefined;
  const fields = kind === 'form' || kind === 'multipart' ? fieldsOf(document, media, `${place}.requestBody`) : {};
  return {
    plan: {
      argument: argumentName('body', 'body', taken),
      kind,
      mediaType: usable(name) && !name.includes('*') ? name : 'application/octet-stream',
      isRequired: said['required'] === true,
      fields,
    },
    schema: withDescription(
      schemaFor(kind, schema, { document, writer, fields, place: `${place}.requestBody` }),
      said['description'],
    ),
  };
}

/** A media type that can be sent. */
function usable(name: string): boolean {
  return mediaType.test(name);
}

function kindOf(name: string): BodyKind {
  return kinds.find(([, fits]) => fits.test(name.toLowerCase()))?.[0] ?? (name === '*/*' ? 'json' : 'binary');
}

function chosen(content: JsonObject): readonly [string, unknown] | undefined {
  const all = Object.entries(content);
  for (const [kind] of kinds) {
    const found = all.find(([name]) => kindOf(name) === kind);
    if (found !== undefined) return found;
  }
  return all[0];
}

interface Means {
  readonly document: OpenApiDocument;
  readonly writer: SchemaWriter;
  readonly fields: BodyPlan['fields'];
  readonly place: string;
}

function schemaFor(kind: BodyKind, schema: unknown, { document, writer, fields, place }: Means): JsonObject {
  if (kind === 'binary') return { type: 'string', contentEncoding: 'base64', description: 'The content, in base64.' };
  if (kind === 'text') return { type: 'string' };
  if (kind === 'json') return writer.write(schema);
  const form = isObject(schema) ? document.refs.object(schema, place) : {};
  const written = writer.write(form);
  const members = isObject(written['properties']) ? written['properties'] : {};
  const withFiles = Object.entries(members).map(([name, member]) =>
    fields[name]?.isFile === true ? [name, fileLike(document, form, name, place)] : [name, member],
  );
  return { ...written, type: 'object', properties: Object.fromEntries(withFiles) as JsonObject };
}

/** A file, or a list of files. */
function fileLike(document: OpenApiDocument, form: JsonObject, name: string, place: string): JsonObject {
  const properties = isObject(form['properties']) ? form['properties'] : {};
  const member = document.refs.object(properties[name], place);
  return member['type'] === 'array' ? { type: 'array', items: file } : file;
}

/** Members of a form that are sent in a way of their own: files, and those with an `encoding`. */
function fieldsOf(document: OpenApiDocument, media: unknown, place: string): BodyPlan['fields'] {
  if (!isObject(media) || !isObject(media['schema'])) return {};
  const form = document.refs.object(media['schema'], place);
  const encodings = isObject(media['encoding']) ? media['encoding'] : {};
  const properties = isObject(form['properties']) ? form['properties'] : {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, value]): readonly (readonly [string, FieldPlan])[] => {
      const member = isObject(value) ? document.refs.object(value, place) : {};
      const encoding = encodings[name];
      const isFile =
        isBinary(member) || (isObject(member['items']) && isBinary(document.refs.object(member['items'], place)));
      if (!isFile && !isObject(encoding)) return [];
      const { contentType, style, explode, allowReserved } = isObject(encoding) ? encoding : ({} as JsonObject);
      const type = typeof contentType === 'string' ? contentType.split(',')[0]?.trim() : undefined;
      return [
        [
          name,
          {
            style: typeof style === 'string' ? style : 'form',
            explode: typeof explode === 'boolean' ? explode : style === undefined || style === 'form',
            isRaw: allowReserved === true,
            isFile,
            mediaType: type !== undefined && usable(type) && !type.includes('*') ? type : undefined,
          },
        ],
      ];
    }),
  );
}

function isBinary({ type, format, contentEncoding, contentMediaType }: JsonObject): boolean {
  if (type === 'file' || format === 'binary') return true;
  return type === undefined || type === 'string'
    ? contentEncoding === undefined && typeof contentMediaType === 'string' && !/json|text/.test(contentMediaType)
    : false;
}

function withDescription(schema: JsonObject, description: unknown): JsonObject {
  return typeof description === 'string' && description !== '' && schema['description'] === undefined
    ? { ...schema, description: description.slice(0, 2_000).toWellFormed() }
    : schema;
}
