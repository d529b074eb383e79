/** The success answer of an operation: the output schema of its tool, and the media types to ask for (OpenAPI 3.1, 4.8.16 and 4.8.17). */
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { OpenApiDocument } from './document.ts';
import { SchemaWriter } from './json-schema.ts';
import { DocumentProblem } from './problem.ts';
import { modernResponse } from './swagger.ts';

interface Answer {
  readonly accept: string;
  /** Undefined if there is no JSON answer, or none that is described. */
  readonly schema: JsonObject | undefined;
  readonly form: 'object' | 'wrapped';
}

const isJson = /^application\/(.+\+)?json\b/i;
const mediaType = /^[\w!#$&^.+*/-]+(\s*;[\x20-\x7E]*)?$/;
const maxAccepted = 8;

export function answerOf(document: OpenApiDocument, operation: JsonObject, place: string, hasAnswers: boolean): Answer {
  const contents = successes(document, operation, place);
  const names = [...new Set(contents.flatMap((content) => Object.keys(content)))].filter((name) =>
    mediaType.test(name),
  );
  const plain = names.filter((name) => isJson.test(name));
  const accept = [...plain, ...names.filter((name) => !isJson.test(name))].slice(0, maxAccepted).join(', ');
  const media = contents.flatMap((content) => Object.entries(content)).find(([name]) => isJson.test(name))?.[1];
  const schema = hasAnswers && isObject(media) ? media['schema'] : undefined;
  return {
    accept: accept === '' ? 'application/json, */*;q=0.5' : accept,
    ...described(document, schema, place),
  };
}

/** The contents of the answers with a status of 2xx, else those of the default answer. */
function successes(document: OpenApiDocument, operation: JsonObject, place: string): readonly JsonObject[] {
  const responses = isObject(operation['responses']) ? operation['responses'] : {};
  const statuses = Object.keys(responses)
    .filter((status) => /^2(\d\d|XX)$/i.test(status))
    .sort();
  const { root, version } = document;
  return (statuses.length > 0 ? statuses : ['default']).flatMap((status) => {
    if (!isObject(responses[status])) return [];
    try {
      const said = document.refs.object(responses[status], `${place}.responses.${status}`);
      const response = version === '2.0' ? modernResponse(said, operation['produces'] ?? root['produces']) : said;
      return isObject(response['content']) ? [response['content']] : [];
    } catch {
      return []; // A description of the answer that cannot be read does not keep the operation from being called.
    }
  });
}

function described(document: OpenApiDocument, schema: unknown, place: string): Pick<Answer, 'schema' | 'form'> {
  const none = { schema: undefined, form: 'object' } as const;
  if (!isObject(schema)) return none;
  try {
    const writer = new SchemaWriter(document, 'answer', place);
    const root = document.refs.object(schema, place);
    const isOwn = root['type'] === 'object' || (root['type'] === undefined && isObject(root['properties']));
    const written = writer.write(isOwn ? root : schema);
    const made = isOwn ? { ...written, type: 'object' } : { type: 'object', properties: { result: written } };
    const isSaid = isOwn ? made['properties'] !== undefined : Object.keys(written).length > 0;
    if (!isSaid) return none;
    return { schema: { ...made, ...writer.definitions() }, form: isOwn ? 'object' : 'wrapped' };
  } catch (error) {
    if (!(error instanceof DocumentProblem)) throw error;
    return none;
  }
}
