import { expect, it } from 'vitest';
import { readDocument } from './document.ts';
import { operationsOf } from './operations.ts';
import { requestOf, type ApiRequest } from './request.ts';

const object = { R: 100, G: 200, B: 150 };
const array = ['blue', 'black', 'brown'];

async function request(
  path: string,
  operation: object,
  given: object,
  secrets?: ReadonlyMap<string, string>,
  more = {},
): Promise<ApiRequest> {
  const document = await readDocument(
    JSON.stringify({
      openapi: '3.1.0',
      info: {},
      paths: { [path]: { post: { responses: {}, ...operation } } },
      ...more,
    }),
  );
  const { plans, leftOut } = await operationsOf(document);
  expect(leftOut).toEqual([]);
  const [plan] = plans.values();
  if (plan === undefined) throw new Error('there is no operation');
  return requestOf(plan, given as never, '', secrets);
}

// OpenAPI 3.1, 4.8.12.4, Style Examples; where it has no example, as RFC 6570 writes it.
it.each([
  ['matrix', false, 'blue', '/;color=blue'],
  ['matrix', false, array, '/;color=blue,black,brown'],
  ['matrix', true, array, '/;color=blue;color=black;color=brown'],
  ['matrix', false, object, '/;color=R,100,G,200,B,150'],
  ['matrix', true, object, '/;R=100;G=200;B=150'],
  ['label', false, 'blue', '/.blue'],
  ['label', true, array, '/.blue.black.brown'],
  ['label', true, object, '/.R=100.G=200.B=150'],
  ['simple', false, array, '/blue,black,brown'],
  ['simple', false, object, '/R,100,G,200,B,150'],
  ['simple', true, object, '/R=100,G=200,B=150'],
])('a path parameter in the style %s, explode %s, of %j is %s', async (style, explode, value, path) => {
  const parameters = [{ name: 'color', in: 'path', required: true, style, explode }];
  expect((await request('/{color}', { parameters }, { color: value })).path).toBe(path);
});

it.each([
  ['form', true, 'blue', '?color=blue'],
  ['form', false, array, '?color=blue,black,brown'],
  ['form', true, array, '?color=blue&color=black&color=brown'],
  ['form', false, object, '?color=R,100,G,200,B,150'],
  ['form', true, object, '?R=100&G=200&B=150'],
  ['spaceDelimited', false, array, '?color=blue%20black%20brown'],
  ['pipeDelimited', false, array, '?color=blue%7Cblack%7Cbrown'],
  ['deepObject', true, object, '?color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150'],
  ['deepObject', true, { a: { b: 1 } }, '?color%5Ba%5D%5Bb%5D=1'],
])('a query parameter in the style %s, explode %s, of %j is %s', async (style, explode, value, query) => {
  const parameters = [{ name: 'color', in: 'query', style, explode }];
  expect((await request('/', { parameters }, { color: value })).path).toBe(`/${query}`);
});

it('headers and cookies carry parameters, and a parameter of JSON goes as JSON', async () => {
  const parameters = [
    { name: 'X-Tags', in: 'header', schema: { type: 'array' } },
    { name: 'filter', in: 'query', content: { 'application/json': { schema: {} } } },
    { name: 'session', in: 'cookie' },
    { name: 'Authorization', in: 'header' },
  ];
  const made = await request(
    '/',
    { parameters },
    { 'X-Tags': ['a', 'b'], filter: { a: 1 }, session: 'x y', Authorization: 'mine' },
  );
  expect(made.headers).toMatchObject({ 'x-tags': 'a,b', cookie: 'session=x%20y' });
  expect(made.headers).not.toHaveProperty('authorization');
  expect(made.path).toBe('/?filter=%7B%22a%22%3A1%7D');
});

it.each(['.', '..'])('a path parameter of %j, which would lead elsewhere, is refused', async (value) => {
  const parameters = [{ name: 'id', in: 'path', required: true }];
  await expect(request('/things/{id}/parts', { parameters }, { id: value })).rejects.toThrow('may be "." or ".."');
});

it.each(['../b', 'a/../../b', '..\\b'])(
  'a path parameter of %j, which a proxy that decodes it would lead elsewhere, is refused',
  async (value) => {
    const parameters = [{ name: 'id', in: 'path', required: true }];
    await expect(request('/things/{id}/parts', { parameters }, { id: value })).rejects.toThrow('may be "." or ".."');
  },
);

it.each([[[]], [['']], [{}]])('a path parameter of %j, which would ask for all things, is refused', async (value) => {
  const parameters = [{ name: 'id', in: 'path', required: true }];
  await expect(request('/things/{id}', { parameters }, { id: value })).rejects.toThrow('the argument "id" is empty');
});

it('a query in the path of a document stays before the parameters; reserved characters of a cookie are encoded', async () => {
  const parameters = [
    { name: 'k', in: 'query' },
    { name: 'c', in: 'cookie', allowReserved: true },
  ];
  const made = await request('/things?do=list', { parameters }, { k: 'a', c: 'x;y' });
  expect([made.path, made.headers['cookie']]).toEqual(['/things?do=list&k=a', 'c=x%3By']);
});

it.each(['?x=1', '#', '%2e%2e', '\r\nX: y'])('a path parameter of %j stays in its place', async (value) => {
  const parameters = [{ name: 'id', in: 'path', required: true }];
  const { path } = await request('/things/{id}/parts', { parameters }, { id: value });
  const { pathname, search, hash } = new URL(path, 'http://api.example');
  expect([search, hash]).toEqual(['', '']);
  expect(pathname.split('/')).toHaveLength(4);
  expect(decodeURIComponent(path.split('/')[2] as string)).toBe(value);
});

it('a header takes no second line', async () => {
  const parameters = [{ name: 'X-Note', in: 'header' }];
  await expect(request('/', { parameters }, { 'X-Note': 'a\r\nHost: b' })).rejects.toThrow('one line of Latin-1');
});

it('arguments with one name in several places are kept apart', async () => {
  const parameters = [
    { name: 'id', in: 'path', required: true },
    { name: 'id', in: 'query' },
    { name: 'filter[name]', in: 'query' },
  ];
  const made = await request('/{id}', { parameters }, { id: 1, id_query: 2, filter_name: 'x' });
  expect(made.path).toBe('/1?id=2&filter%5Bname%5D=x');
});

const bodyOf = (type: string, media: object = {}): object => ({
  requestBody: { required: true, content: { [type]: media } },
});

it.each([
  ['application/json', {}, { a: [1] }, '{"a":[1]}'],
  ['application/vnd.api+json', {}, 5, '5'],
  ['text/plain', {}, 'hello', 'hello'],
  ['application/x-www-form-urlencoded', {}, { a: 'x y', b: [1, 2] }, 'a=x%20y&b=1&b=2'],
  ['application/x-www-form-urlencoded', {}, { a: { b: { c: 1 } } }, 'a%5Bb%5D%5Bc%5D=1'],
  [
    'application/x-www-form-urlencoded',
    {},
    { constructor: [1, 2], valueOf: { a: 1 } },
    'constructor=1&constructor=2&valueOf%5Ba%5D=1',
  ],
  [
    'application/x-www-form-urlencoded',
    { schema: { properties: { a: { type: 'array' } } }, encoding: { a: { style: 'pipeDelimited', explode: false } } },
    { a: [1, 2] },
    'a=1%7C2',
  ],
])('a body of %s is sent as it is described', async (type, media, given, sent) => {
  const made = await request('/', bodyOf(type, media), { body: given });
  expect(made.headers['content-type']).toBe(type);
  expect(made.body?.toString()).toBe(sent);
});

it('binary content and files are taken in base64', async () => {
  const made = await request('/', bodyOf('application/octet-stream'), { body: 'AAH/' });
  expect(made.body).toEqual(Buffer.from([0, 1, 255]));
  await expect(request('/', bodyOf('image/png'), { body: '***' })).rejects.toThrow('"body" must be base64');
});

it('a multipart body has fields and files, and a name cannot break out of its header', async () => {
  const schema = {
    type: 'object',
    properties: { note: { type: 'string' }, meta: { type: 'object' }, file: { type: 'string', format: 'binary' } },
  };
  const made = await request('/', bodyOf('multipart/form-data', { schema }), {
    body: { note: 'n', meta: { a: 1 }, file: { base64: 'AAH/', filename: 'a"\r\nX: y.bin', mimeType: 'image/png' } },
  });
  const form = await new Response(made.body as Buffer<ArrayBuffer>, { headers: made.headers }).formData();
  expect([form.get('note'), form.get('meta')]).toEqual(['n', expect.anything()]);
  const file = form.get('file') as File;
  expect([file.type, file.size, file.name]).toEqual(['image/png', 3, 'a"\r\nX: y.bin']);
  expect(made.body?.toString('latin1')).not.toContain('\r\nX: y');
});

it.each([
  [{ type: 'apiKey', in: 'header', name: 'X-Key' }, 'secret', 'x-key', 'secret'],
  [{ type: 'http', scheme: 'bearer' }, 'secret', 'authorization', 'Bearer secret'],
  [{ type: 'oauth2' }, 'secret', 'authorization', 'Bearer secret'],
  [
    { type: 'http', scheme: 'basic' },
    'me:secret',
    'authorization',
    `Basic ${Buffer.from('me:secret').toString('base64')}`,
  ],
  [{ type: 'apiKey', in: 'cookie', name: 'sid' }, 'secret', 'cookie', 'sid=secret'],
])('the secret of the scheme %j goes where it belongs', async (scheme, secret, header, sent) => {
  const made = await request('/', { security: [{ other: [] }, { mine: [] }] }, {}, new Map([['mine', secret]]), {
    components: { securitySchemes: { mine: scheme, other: { type: 'http', scheme: 'digest' } } },
  });
  expect(made.headers[header]).toBe(sent);
});
