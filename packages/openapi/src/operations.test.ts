import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { readDocument } from './document.ts';
import { operationsOf, type Operations, type Selection } from './operations.ts';
import { apiAddress } from './servers.ts';

const read = async (document: object, selection?: Selection): Promise<Operations> =>
  operationsOf(await readDocument(JSON.stringify({ openapi: '3.0.3', info: { title: 't' }, ...document })), selection);
const get = (operationId: string, more: object = {}): object => ({ get: { operationId, responses: {}, ...more } });
const compile = (schema: unknown): ReturnType<Ajv2020['compile']> => {
  const ajv = new Ajv2020({ strict: false, logger: false });
  addFormats.default(ajv);
  return ajv.compile(schema as object);
};

describe('documents', () => {
  it.each([
    ['[]', 'expected an object at its top'],
    ['{"openapi":"3.0.0"', 'the document cannot be read'],
    ['a: [1', 'neither JSON nor YAML'],
    ['{"openapi":"4.0.0","paths":{}}', 'openapi: version "4.0.0" is not known: 2.0, 3.0, 3.1 and 3.2 are'],
    ['{"info":{}}', 'it has neither "openapi" nor "swagger"'],
    ['{"openapi":"3.0.0"}', 'paths: expected an object with the operations of the API'],
    [`{"openapi":"3.0.0","paths":${'['.repeat(300)}${']'.repeat(300)}}`, 'nests deeper than 200'],
    [
      'a: &a [x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d]',
      'Excessive alias count',
    ],
  ])('%.40s… is refused with its place and the reason', async (text, problem) => {
    await expect(readDocument(text)).rejects.toThrow(problem);
  });

  it('YAML is read as JSON is', async () => {
    const { tools } = await operationsOf(
      await readDocument(
        'openapi: 3.1.0\ninfo: {title: t}\npaths:\n  /a:\n    get:\n      responses:\n        200: {description: ok}\n',
      ),
    );
    expect(tools.map(({ name }) => name)).toEqual(['get_a']);
  });
});

describe('names', () => {
  it('are of the characters that models take, within 60, unique, and do not depend on the order', async () => {
    const paths = {
      '/a': get('repos/list for'),
      '/b': { post: { responses: {} } },
      '/c': get('same'),
      '/d': get('same'),
      '/e': get('x'.repeat(100)),
    };
    const names = (await read({ paths })).tools.map(({ name }) => name);
    expect(names.slice(0, 2)).toEqual(['repos_list_for', 'post_b']);
    expect(new Set(names).size).toBe(5);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,60}$/);
    const turned = (await read({ paths: Object.fromEntries(Object.entries(paths).toReversed()) })).tools;
    expect(new Set(turned.map(({ name }) => name))).toEqual(new Set(names));
  });
});

describe('selection', () => {
  const paths = { '/a/b': get('aB', { tags: ['one'] }), '/a/c': get('aC', { tags: ['two'] }), '/d': get('d') };
  it.each([
    [{ operations: ['GET /a/*'] }, ['aB', 'aC']],
    [{ operations: ['!aC'] }, ['aB', 'd']],
    [{ operations: ['a*', '!GET /a/b'] }, ['aC']],
    [{ tags: ['two'] }, ['aC']],
  ])('%j chooses %j', async (selection, names) => {
    expect((await read({ paths }, selection)).tools.map(({ name }) => name)).toEqual(names);
  });
});

describe('hostile parts', () => {
  it('one operation that cannot be called is named, and the others are offered', async () => {
    const { tools, leftOut } = await read({
      paths: {
        '/good': get('good'),
        '/circle': { $ref: '#/paths/~1circle' },
        '/other': get('other', { parameters: [{ $ref: 'https://elsewhere.example/p.json' }] }),
        '/file': get('file', { parameters: [{ name: 'a', in: 'query', schema: { $ref: 'file:///etc/passwd' } }] }),
        '/nowhere': get('nowhere', { requestBody: { $ref: '#/components/requestBodies/none' } }),
        '/name': get('name', { parameters: [{ name: { toString: 1 }, in: 'query' }] }),
        '/proto': get('proto', { parameters: [{ $ref: '#/constructor/prototype' }] }),
      },
    });
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(leftOut.map(({ name }) => name)).toEqual(['/circle', 'other', 'file', 'nowhere', 'name', 'proto']);
    expect(leftOut[0]?.problem).toBe('paths./circle: its references lead to each other (32 in a row)');
    expect(leftOut[1]?.problem).toContain('"https://elsewhere.example/p.json" leads to another document');
  });

  it('schemas that refer to themselves, and to ever more others, stay small', async () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [
        `s${index}`,
        {
          type: 'object',
          description: 'x'.repeat(300),
          properties: {
            self: { $ref: `#/components/schemas/s${index}` },
            next: { $ref: `#/components/schemas/s${(index + 1) % 3_000}` },
          },
        },
      ]),
    );
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/s0' } } };
    const paths = { '/a': { post: { requestBody: { content }, responses: { 200: { content } } } } };
    const [tool] = (await read({ paths, components: { schemas } })).tools;
    expect(JSON.stringify(tool).length).toBeLessThan(100_000);
    expect(compile(tool?.['inputSchema'])({ body: { self: { next: {} } } })).toBe(true);
    expect(compile(tool?.['inputSchema'])({ body: { self: { next: 5 } } })).toBe(false);
    expect(compile(tool?.['outputSchema'])({ self: null })).toBe(true);
  });
});

describe('schemas', () => {
  const argument = async (schema: object, more: object = {}): Promise<unknown> => {
    const paths = { '/a': get('a', { parameters: [{ name: 'v', in: 'query', schema }] }) };
    const [tool] = (await read({ paths, ...more })).tools;
    compile(tool?.['inputSchema']);
    return (tool?.['inputSchema'] as { readonly properties: { readonly v: unknown } }).properties.v;
  };

  it.each([
    [
      { type: 'string', nullable: true, enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      { type: 'integer', minimum: 1, exclusiveMinimum: true },
      { type: 'integer', exclusiveMinimum: 1 },
    ],
    [{ type: 'string', pattern: '(?i)x', format: 'odd', example: 'x', xml: {} }, { type: 'string' }],
    [
      { type: 'string', pattern: '^x', format: 'uuid' },
      { type: 'string', pattern: '^x', format: 'uuid' },
    ],
    [{ required: true, enum: [], type: 'nonsense' }, {}],
    [
      { type: 'object', properties: { id: { readOnly: true }, name: {} }, required: ['id', 'name'] },
      { type: 'object', properties: { name: {} }, required: ['name'] },
    ],
    [{ oneOf: [{ type: 'string' }, { type: 'integer' }] }, { anyOf: [{ type: 'string' }, { type: 'integer' }] }],
  ])('%j becomes %j', async (schema, made) => {
    expect(await argument(schema)).toEqual(made);
  });

  it('an answer that is no object is wrapped, and every member may be null or missing', async () => {
    const content = {
      'application/json': {
        schema: {
          type: 'array',
          items: { type: 'object', required: ['a'], properties: { a: { type: 'string', enum: ['x'] } } },
        },
      },
    };
    const { tools, plans } = await read({ paths: { '/a': get('a', { responses: { 200: { content } } }) } });
    const validate = compile(tools[0]?.['outputSchema']);
    expect(plans.get('a')?.answer).toBe('wrapped');
    expect(
      [{ result: [{}] }, { result: [{ a: null }] }, { result: [{ a: 'y' }] }, {}].map((value) => validate(value)),
    ).toEqual([true, true, true, true]);
    expect(validate({ result: [{ a: 5 }] })).toBe(false);
  });

  it('a part of an answer with items or members and no type may be any value, as the schema says', async () => {
    const user = { items: { anyOf: [{ type: 'object', properties: { id: { type: 'integer' } } }] } };
    const content = {
      'application/json': { schema: { type: 'object', properties: { user, tags: { properties: { a: {} } } } } },
    };
    const { tools } = await read({ paths: { '/a': get('a', { responses: { 200: { content } } }) } });
    const validate = compile(tools[0]?.['outputSchema']);
    expect([{ user: { id: 1 } }, { user: [{ id: 1 }] }, { tags: ['a'] }].map((value) => validate(value))).toEqual([
      true,
      true,
      true,
    ]);
    expect(validate({ user: [{ id: 'one' }] })).toBe(false);
  });
});

describe('Swagger 2.0', () => {
  const swagger = {
    openapi: undefined,
    swagger: '2.0',
    host: 'api.example',
    basePath: '/v2',
    schemes: ['http', 'https'],
    consumes: ['application/json'],
    definitions: { Pet: { type: 'object', properties: { name: { type: 'string' } } } },
    paths: {
      '/pets': {
        post: {
          operationId: 'add',
          parameters: [
            { name: 'tags', in: 'query', type: 'array', collectionFormat: 'pipes' },
            { name: 'pet', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } },
          ],
          responses: { 200: { schema: { $ref: '#/definitions/Pet' } } },
        },
      },
      '/upload': {
        post: {
          operationId: 'upload',
          parameters: [
            { name: 'file', in: 'formData', type: 'file', required: true },
            { name: 'note', in: 'formData', type: 'string' },
          ],
          responses: {},
        },
      },
    },
  };

  it('is read as OpenAPI 3 is', async () => {
    const { tools, plans } = await read(swagger);
    expect(tools[0]).toMatchObject({
      inputSchema: { properties: { tags: { type: 'array' }, body: { $ref: '#/$defs/Pet' } }, required: ['body'] },
      outputSchema: { type: 'object', properties: { name: { type: ['string', 'null'] } } },
    });
    expect(plans.get('add')?.parameters[0]).toMatchObject({ style: 'pipeDelimited', explode: false });
    expect(plans.get('upload')?.body).toMatchObject({
      kind: 'multipart',
      isRequired: true,
      fields: { file: { isFile: true } },
    });
  });

  it('names the address of the API', async () => {
    const document = await readDocument(JSON.stringify(swagger));
    expect(apiAddress(document, undefined).href).toBe('https://api.example/v2');
  });
});

describe('the address of the API', () => {
  const addressOf = async (servers: unknown, from?: string): Promise<string> =>
    apiAddress(await readDocument(JSON.stringify({ openapi: '3.0.0', servers, paths: {} })), from).href;
  it('is the first of the servers, with the defaults of its variables, relative to the document', async () => {
    const servers = [{ url: 'https://{region}.api.example/v1', variables: { region: { default: 'eu' } } }];
    expect(await addressOf(servers)).toBe('https://eu.api.example/v1');
    expect(await addressOf([{ url: '/v1' }], 'https://docs.example/openapi.json')).toBe('https://docs.example/v1');
    await expect(addressOf([{ url: '/v1' }])).rejects.toThrow('set `url` of this server to that of the API');
    await expect(addressOf([{ url: 'file:///etc' }])).rejects.toThrow('no http:// or https:// address');
  });
});
