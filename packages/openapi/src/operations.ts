/** The operations of a document as tools: names, schemas, hints, and plans of their requests. One that cannot be used is named, and the others are not affected. */
import { setImmediate } from 'node:timers/promises';
import { compileGlob, isObject, printable, type JsonObject } from '@omnibus/protocol';
import { bodyOf } from './bodies.ts';
import type { OpenApiDocument } from './document.ts';
import { SchemaWriter } from './json-schema.ts';
import { operationName, withHash } from './names.ts';
import { argumentsOf } from './parameters.ts';
import type { OperationPlan, SchemePlan } from './plan.ts';
import { DocumentProblem } from './problem.ts';
import { answerOf } from './responses.ts';
import { schemesOf, securityOf } from './security.ts';
import { modernParameters } from './swagger.ts';

/** Which operations become tools. */
export interface Selection {
  /** Globs over names of tools, operationIds and `METHOD /path`; one with "!" before it excludes. */
  readonly operations?: readonly string[] | undefined;
  /** Only operations with one of these tags. */
  readonly tags?: readonly string[] | undefined;
  /** Whether tools get output schemas. */
  readonly hasAnswers?: boolean | undefined;
}

interface Tool {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** An operation that is not offered. */
interface LeftOut {
  readonly name: string;
  readonly problem: string;
}

export interface Operations {
  readonly tools: readonly Tool[];
  readonly plans: ReadonlyMap<string, OperationPlan>;
  readonly leftOut: readonly LeftOut[];
}

interface Found {
  readonly method: string;
  readonly path: string;
  readonly operation: JsonObject;
  /** Parameters of the path, for all its operations. */
  readonly shared: unknown;
  readonly id: string | undefined;
  name: string;
}

const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'query'] as const;
const maxOperations = 20_000;
const maxDescription = 4_000;
/** Milliseconds after which other work of the process gets a turn. */
const sliceMs = 20;

/** @throws {DocumentProblem} */
export async function operationsOf(document: OpenApiDocument, selection: Selection = {}): Promise<Operations> {
  const leftOut: LeftOut[] = [];
  const schemes = schemesOf(document);
  const found = named(find(document, leftOut));
  const isChosen = chooser(selection);
  const tools: Tool[] = [];
  const plans = new Map<string, OperationPlan>();
  let since = performance.now();
  for (const each of found) {
    if (!isChosen(each)) continue;
    if (performance.now() - since > sliceMs) {
      await setImmediate();
      since = performance.now();
    }
    try {
      const { tool, plan } = toolOf(document, each, schemes, selection.hasAnswers !== false);
      tools.push(tool);
      plans.set(plan.name, plan);
    } catch (error) {
      if (!(error instanceof DocumentProblem)) throw error;
      leftOut.push({ name: each.name, problem: error.message });
    }
  }
  return { tools, plans, leftOut };
}

function find({ root, refs }: OpenApiDocument, leftOut: LeftOut[]): Found[] {
  const found: Found[] = [];
  for (const [path, value] of Object.entries(isObject(root['paths']) ? root['paths'] : {})) {
    if (!path.startsWith('/')) continue;
    let item: JsonObject;
    try {
      item = refs.object(value, `paths.${printable(path, 200)}`);
    } catch (error) {
      leftOut.push({ name: printable(path, 200), problem: (error as Error).message });
      continue;
    }
    for (const method of methods) {
      const operation = item[method];
      if (!isObject(operation)) continue;
      if (found.length >= maxOperations)
        throw new DocumentProblem('paths', `there are more than ${maxOperations} operations`);
      const { operationId } = operation;
      const id = typeof operationId === 'string' && operationId !== '' ? operationId : undefined;
      found.push({ method: method.toUpperCase(), path, operation, shared: item['parameters'], id, name: '' });
    }
  }
  return found;
}

/** Gives each operation a name. Where two would have the same, both get a mark, so that their order does not matter. */
function named(found: readonly Found[]): readonly Found[] {
  const count = new Map<string, number>();
  for (const each of found) {
    each.name = operationName(each.id, each.method, each.path);
    count.set(each.name, (count.get(each.name) ?? 0) + 1);
  }
  for (const each of found)
    if ((count.get(each.name) ?? 0) > 1) each.name = withHash(each.name, `${each.method} ${each.path}`);
  return found;
}

function chooser({ operations = [], tags }: Selection): (found: Found) => boolean {
  const wanted = operations.filter((glob) => !glob.startsWith('!')).map(compileGlob);
  const unwanted = operations.filter((glob) => glob.startsWith('!')).map((glob) => compileGlob(glob.slice(1)));
  return ({ name, id, method, path, operation }) => {
    const texts = [name, id ?? name, `${method} ${path}`];
    const isOneOf = (globs: readonly ((text: string) => boolean)[]): boolean =>
      globs.some((fits) => texts.some((text) => fits(text)));
    const ofTags = Array.isArray(operation['tags']) ? (operation['tags'] as unknown[]) : [];
    return (
      (wanted.length === 0 || isOneOf(wanted)) &&
      !isOneOf(unwanted) &&
      (tags === undefined || ofTags.some((tag) => tags.includes(tag as string)))
    );
  };
}

function toolOf(
  document: OpenApiDocument,
  found: Found,
  schemes: ReadonlyMap<string, SchemePlan>,
  hasAnswers: boolean,
): { readonly tool: Tool; readonly plan: OperationPlan } {
  const { operation, method, path, name } = found;
  const place = `paths.${printable(path, 200)}.${method.toLowerCase()}`;
  const { parameters, requestBody } = partsOf(document, found, place);
  const writer = new SchemaWriter(document, 'arguments', place);
  const taken = new Set<string>();
  const given = argumentsOf(parameters, { writer, taken, path, place });
  const body = bodyOf(document, requestBody, { writer, taken, place });
  const answer = answerOf(document, operation, place, hasAnswers);
  const required = [...given.required, ...(body?.plan.isRequired === true ? [body.plan.argument] : [])];
  const inputSchema = {
    type: 'object',
    properties: { ...given.properties, ...(body === undefined ? {} : { [body.plan.argument]: body.schema }) },
    ...(required.length === 0 ? {} : { required }),
    ...writer.definitions(),
  };
  return {
    tool: {
      name,
      ...titleOf(operation),
      description: descriptionOf(found),
      inputSchema,
      ...(answer.schema === undefined ? {} : { outputSchema: answer.schema }),
      annotations: hintsOf(method),
    },
    plan: {
      name,
      method,
      path,
      parameters: given.plans,
      body: body?.plan,
      security: securityOf(operation['security'] ?? document.root['security'], schemes),
      accept: answer.accept,
      answer: answer.schema === undefined ? undefined : answer.form,
    },
  };
}

/** Parameters of an operation, its own before those of its path, and its body. */
function partsOf(
  document: OpenApiDocument,
  { operation, shared }: Found,
  place: string,
): { readonly parameters: readonly JsonObject[]; readonly requestBody: unknown } {
  const { refs, root, version } = document;
  const all = [operation['parameters'], shared].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  const known = new Map<string, JsonObject>();
  for (const [index, value] of all.entries()) {
    const parameter = refs.object(value, `${place}.parameters[${index}]`);
    const key = JSON.stringify([parameter['in'], parameter['name']]);
    if (!known.has(key)) known.set(key, parameter);
  }
  const parameters = [...known.values()];
  return version === '2.0'
    ? modernParameters(parameters, operation['consumes'] ?? root['consumes'])
    : { parameters, requestBody: operation['requestBody'] };
}

function titleOf({ summary }: JsonObject): { readonly title?: string } {
  return typeof summary === 'string' && summary.trim() !== '' ? { title: printable(summary.trim(), 200) } : {};
}

function descriptionOf({ operation, method, path }: Found): string {
  const { summary, description, deprecated } = operation;
  const texts = [summary, description].flatMap((text) =>
    typeof text === 'string' && text.trim() !== '' ? [text.trim()] : [],
  );
  const whole = [...new Set(texts)].join('\n\n');
  const cut = whole.length > maxDescription ? `${whole.slice(0, maxDescription).toWellFormed()}…` : whole;
  return `${deprecated === true ? 'Deprecated. ' : ''}${cut === '' ? '' : `${cut}\n\n`}${method} ${printable(path, 500)}`;
}

/** Hints by the semantics of methods (RFC 9110, 9.2). */
function hintsOf(method: string): JsonObject {
  const isSafe = ['GET', 'HEAD', 'OPTIONS', 'QUERY'].includes(method);
  return {
    readOnlyHint: isSafe,
    ...(isSafe ? {} : { destructiveHint: method === 'DELETE' || method === 'PUT' || method === 'PATCH' }),
    idempotentHint: isSafe || method === 'PUT' || method === 'DELETE',
    openWorldHint: true,
  };
}
