/**
 * Reads an OpenAPI document: JSON or YAML, version 3.0, 3.1, 3.2 or Swagger 2.0. Its size, nesting and number of values are bounded before anything else looks
 * at it.
 */
import { isObject, printable, readJson, type JsonObject } from '@omnibus/protocol';
import { DocumentProblem } from './problem.ts';
import { Refs } from './refs.ts';

type Version = '2.0' | '3.0' | '3.1';

export interface OpenApiDocument {
  readonly root: JsonObject;
  readonly version: Version;
  readonly refs: Refs;
  /** `info.title`, without control characters. */
  readonly title: string;
}

/** Bytes of a document; the largest public ones have a third of it. */
export const maxDocumentBytes = 48 * 1024 * 1024;
const maxJsonDepth = 200;
const maxJsonValues = 6_000_000;
/** Nodes that YAML aliases may multiply to. */
const maxAliasCount = 1_000;
const maxTitle = 200;

/** @throws {DocumentProblem} */
export async function readDocument(text: string): Promise<OpenApiDocument> {
  const root = await parse(text);
  const version = versionOf(root);
  if (!isObject(root['paths']) && !isObject(root['webhooks']))
    throw new DocumentProblem('paths', 'expected an object with the operations of the API');
  const { title } = isObject(root['info']) ? root['info'] : {};
  return {
    root,
    version,
    refs: new Refs(root),
    title: typeof title === 'string' ? printable(title, maxTitle) : '',
  };
}

async function parse(text: string): Promise<JsonObject> {
  if (Buffer.byteLength(text) > maxDocumentBytes)
    throw new DocumentProblem('', `the document is larger than ${maxDocumentBytes} bytes`);
  const value = /^\s*\{/.test(text) ? fromJson(text) : await fromYaml(text);
  if (!isObject(value)) throw new DocumentProblem('', 'this is no OpenAPI document: expected an object at its top');
  return value;
}

function fromJson(text: string): unknown {
  const read = readJson(text, maxDocumentBytes, { maxJsonDepth, maxJsonValues }, JSON.parse);
  if (read.kind === 'refused') throw new DocumentProblem('', `the document cannot be read: ${read.problem}`);
  return read.value;
}

/** Documents in YAML are read by a library that is loaded for the first of them. */
async function fromYaml(text: string): Promise<unknown> {
  const { parse: parseYaml } = await import('yaml');
  let value: unknown;
  try {
    value = parseYaml(text, { maxAliasCount, merge: true, logLevel: 'error', prettyErrors: true });
  } catch (error) {
    throw new DocumentProblem('', `the document is neither JSON nor YAML: ${printable((error as Error).message, 300)}`);
  }
  checkBounds(value);
  return value;
}

/** An alias may lead to a part that contains it. */
function checkBounds(value: unknown): void {
  const pending: (readonly [value: object, depth: number])[] =
    typeof value === 'object' && value !== null ? [[value, 1]] : [];
  let count = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [parent, depth] = next;
    if (depth > maxJsonDepth) throw new DocumentProblem('', `the document nests deeper than ${maxJsonDepth}`);
    for (const member of Object.values(parent)) {
      count += 1;
      if (count > maxJsonValues) throw new DocumentProblem('', `the document has more than ${maxJsonValues} values`);
      if (typeof member === 'object' && member !== null) pending.push([member as object, depth + 1]);
    }
  }
}

function versionOf({ openapi, swagger }: JsonObject): Version {
  const version = openapi ?? swagger;
  // YAML reads 3.1 as a number.
  const said = typeof version === 'string' || typeof version === 'number' ? String(version) : '';
  if (openapi === undefined && /^2(\.0|$)/.test(said)) return '2.0';
  if (openapi !== undefined && /^3\.0(\.|$)/.test(said)) return '3.0';
  if (openapi !== undefined && /^3\.[12](\.|$)/.test(said)) return '3.1';
  throw new DocumentProblem(
    openapi === undefined ? 'swagger' : 'openapi',
    said === ''
      ? 'this is no OpenAPI document: it has neither "openapi" nor "swagger"'
      : `version ${JSON.stringify(printable(said, 20))} is not known: 2.0, 3.0, 3.1 and 3.2 are`,
  );
}
