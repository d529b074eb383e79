/**
 * Turns schemas of a document into JSON Schema 2020-12 as MCP demands it. Each tool carries the schemas that it refers to under `$defs`, near ones first, within a
 * bound of characters; parts beyond the bound accept any value. So a circle of references ends, and no operation is too large.
 *
 * For arguments the schema keeps its rules. For answers only the shape stays (types, each of which may be null, members and items): services deviate from
 * their documents, and a client refuses an answer that breaks a rule.
 */
import { isObject, isPattern, isRawNumber, type JsonObject } from '@omnibus/protocol';
import type { OpenApiDocument } from './document.ts';

export type Purpose = 'arguments' | 'answer';

type Made = Record<string, unknown>;

const types = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']);
/** Formats of JSON Schema and of `ajv-formats`; validators warn of others. */
const formats = new Set<unknown>(
  'date date-time time duration email hostname ipv4 ipv6 uri uri-reference uri-template uuid regex json-pointer byte binary int32 int64 float double password'.split(
    ' ',
  ),
);
const numbers = ['minimum', 'maximum', 'multipleOf'] as const;
const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;
const maxDepth = 64;
const maxText: Record<Purpose, number> = { arguments: 2_000, answer: 200 };
/** Characters of all schemas of one tool and purpose. */
const maxCharacters: Record<Purpose, number> = { arguments: 48 * 1024, answer: 12 * 1024 };

interface Definition {
  readonly name: string;
  readonly source: unknown;
  made: Made | undefined;
}

export class SchemaWriter {
  readonly #document: OpenApiDocument;
  readonly #purpose: Purpose;
  readonly #place: string;
  readonly #definitions = new Map<string, Definition>();
  readonly #names = new Set<string>();
  #left: number;

  /** @param place for problems of references. */
  constructor(document: OpenApiDocument, purpose: Purpose, place: string) {
    this.#document = document;
    this.#purpose = purpose;
    this.#place = place;
    this.#left = maxCharacters[purpose];
  }

  /** @throws {DocumentProblem} for a reference that cannot be followed. */
  write(schema: unknown, depth = 0): Made {
    if (schema === false) return { not: {} };
    if (!isObject(schema) || depth > maxDepth || this.#left < 0) return {};
    const { $ref } = schema;
    if (typeof $ref === 'string') return this.#reference($ref, schema);
    const made: Made = {};
    this.#texts(schema, made);
    this.#types(schema, made);
    this.#shape(schema, made, depth);
    if (this.#purpose === 'arguments') this.#rules(schema, made, depth);
    return this.#nullable(schema, made);
  }

  /** The schemas that others refer to, written breadth first. Left out if there are none. */
  definitions(): { readonly $defs?: JsonObject } {
    for (const definition of this.#definitions.values()) definition.made ??= this.write(definition.source, 1);
    if (this.#definitions.size === 0) return {};
    return { $defs: Object.fromEntries([...this.#definitions.values()].map(({ name, made }) => [name, made])) };
  }

  #reference(reference: string, { description }: JsonObject): Made {
    const known = this.#definitions.get(reference);
    const name = known?.name ?? this.#nameFor(reference);
    if (known === undefined) {
      const source = this.#document.refs.at(reference, this.#place);
      this.#definitions.set(reference, { name, source, made: undefined });
    }
    this.#left -= name.length + 20;
    const made: Made = { $ref: `#/$defs/${name}` };
    if (typeof description === 'string') this.#texts({ description }, made);
    return made;
  }

  #nameFor(reference: string): string {
    const last = (reference.split('/').at(-1) ?? '').replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 60) || 'schema';
    let name = last;
    for (let turn = 2; this.#names.has(name); turn += 1) name = `${last}_${turn}`;
    this.#names.add(name);
    return name;
  }

  #texts({ title, description, default: fallback }: JsonObject, made: Made): void {
    const text = typeof description === 'string' ? description : this.#purpose === 'arguments' ? title : undefined;
    if (typeof text === 'string' && text !== '') {
      const max = maxText[this.#purpose];
      made['description'] = text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;
      this.#left -= (made['description'] as string).length + 18;
    }
    if (fallback !== undefined && this.#purpose === 'arguments') this.#copy('default', fallback, made);
  }

  #types({ type, properties, additionalProperties, items }: JsonObject, made: Made): void {
    const said = (Array.isArray(type) ? type : [type]).map((each) => (each === 'file' ? 'string' : each));
    const known = said.filter((each) => types.has(each));
    // Members or items without a type are about objects or lists, and allow other values: Slack describes objects by `items`.
    if (known.length === 0 && this.#purpose === 'arguments') {
      if (isObject(properties) || isObject(additionalProperties)) known.push('object');
      else if (isObject(items)) known.push('array');
    }
    if (known.length === 0) return;
    if (this.#purpose === 'answer' && !known.includes('null')) known.push('null');
    this.#left -= 18;
    made['type'] = known.length === 1 ? known[0] : known;
  }

  #shape(schema: JsonObject, made: Made, depth: number): void {
    const { properties, items, additionalProperties, allOf, anyOf, oneOf } = schema;
    if (isObject(properties)) {
      const members = Object.entries(properties).filter(([, each]) => !this.#isOther(each));
      made['properties'] = Object.fromEntries(
        members.map(([name, each]) => {
          this.#left -= name.length + 6;
          return [name, this.write(each, depth + 1)];
        }),
      );
    }
    if (isObject(items)) made['items'] = this.write(items, depth + 1);
    if (isObject(additionalProperties) && Object.keys(additionalProperties).length > 0)
      made['additionalProperties'] = this.write(additionalProperties, depth + 1);
    if (Array.isArray(allOf) && allOf.length > 0) made['allOf'] = allOf.map((each) => this.write(each, depth + 1));
    // Members of one `oneOf` overlap in many documents, so that a good value fits several.
    const either = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
    if (either.length > 0) made['anyOf'] = either.map((each) => this.write(each, depth + 1));
  }

  /** Whether a member is only for the other direction (OpenAPI 3.0, 4.7.24: readOnly, writeOnly). */
  #isOther(member: unknown): boolean {
    return isObject(member) && member[this.#purpose === 'arguments' ? 'readOnly' : 'writeOnly'] === true;
  }

  #rules(schema: JsonObject, made: Made, depth: number): void {
    const { properties, required, enum: allowed, pattern, format, additionalProperties, not } = schema;
    if (Array.isArray(required)) {
      const isHere = (name: unknown): name is string =>
        typeof name === 'string' && !(isObject(properties) && this.#isOther(properties[name]));
      const names = [...new Set(required.filter(isHere))];
      if (names.length > 0) this.#copy('required', names, made);
    }
    if (Array.isArray(allowed) && allowed.length > 0) this.#copy('enum', allowed, made);
    if (schema['const'] !== undefined) this.#copy('const', schema['const'], made);
    if (typeof pattern === 'string' && isPattern(pattern)) this.#copy('pattern', pattern, made);
    if (formats.has(format)) this.#copy('format', format, made);
    if (additionalProperties === false) made['additionalProperties'] = false;
    if (schema['uniqueItems'] === true) made['uniqueItems'] = true;
    if (isObject(not)) made['not'] = this.write(not, depth + 1);
    this.#bounds(schema, made);
  }

  /** Numbers that bound a value; OpenAPI 3.0 writes exclusive bounds as true. */
  #bounds(schema: JsonObject, made: Made): void {
    for (const name of numbers) if (isNumber(schema[name])) made[name] = schema[name];
    for (const name of counts)
      if (Number.isSafeInteger(schema[name]) && (schema[name] as number) >= 0) made[name] = schema[name];
    if (made['multipleOf'] === 0) delete made['multipleOf'];
    for (const [name, bound] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ] as const) {
      if (isNumber(schema[name])) made[name] = schema[name];
      else if (schema[name] === true && made[bound] !== undefined) {
        made[name] = made[bound];
        delete made[bound];
      }
    }
  }

  /** `nullable` of OpenAPI 3.0 as JSON Schema says it. */
  #nullable({ nullable, 'x-nullable': ofTwo }: JsonObject, made: Made): Made {
    if ((nullable !== true && ofTwo !== true) || this.#purpose === 'answer') return made;
    const { type, enum: allowed } = made;
    if (typeof type !== 'string') return made;
    made['type'] = [type, 'null'];
    if (Array.isArray(allowed) && !allowed.includes(null)) made['enum'] = [...(allowed as unknown[]), null];
    return made;
  }

  /** Copies a value that is no schema, if there is room for it. */
  #copy(name: string, value: unknown, made: Made): void {
    const { length } = JSON.stringify(value);
    if (length > this.#left) return;
    this.#left -= length + name.length + 4;
    made[name] = value;
  }
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || isRawNumber(value);
}
