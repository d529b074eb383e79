import { expect, it } from 'vitest';
import { resultOf, type ApiAnswer } from './answer.ts';
import type { OperationPlan } from './plan.ts';

const plan: OperationPlan = {
  name: 'a',
  method: 'POST',
  path: '/a',
  parameters: [
    {
      name: 'page',
      argument: 'page',
      in: 'query',
      style: 'form',
      explode: true,
      isRaw: false,
      isRequired: false,
      isJson: false,
    },
  ],
  body: undefined,
  security: [[{ name: 'key', kind: 'bearer', parameter: '' }]],
  accept: '*/*',
  answer: undefined,
};
const result = (answer: Partial<ApiAnswer>, more: Partial<OperationPlan> = {}): ReturnType<typeof resultOf> =>
  resultOf(
    { status: 200, headers: {}, body: Buffer.alloc(0), ...answer },
    {
      plan: { ...plan, ...more },
      address: 'https://api.example/a',
      limits: { maxJsonDepth: 50, maxJsonValues: 1_000 },
      secrets: new Map(),
      now: () => 0,
    },
  );
const of = (type: string, body: string | Buffer): Partial<ApiAnswer> => ({
  headers: { 'content-type': type },
  body: Buffer.from(body),
});
const textOf = ({ content }: ReturnType<typeof resultOf>): string => content.map(({ text }) => String(text)).join('\n');

it('a JSON object is structured content, and its text stays exact', () => {
  const made = result(of('application/json; charset=utf-8', '{"n":12345678901234567890}'), { answer: 'object' });
  expect(textOf(made)).toBe('{"n":12345678901234567890}');
  expect(JSON.stringify(made.structuredContent)).toBe('{"n":12345678901234567890}');
});

it('another JSON value is wrapped as the output schema says', () => {
  expect(result(of('application/json', '[1]'), { answer: 'wrapped' }).structuredContent).toEqual({ result: [1] });
});

it('a tool with an output schema always has structured content', () => {
  expect(result({ status: 204 }, { answer: 'object' })).toMatchObject({
    structuredContent: {},
    content: [{ text: 'HTTP 204 No Content, without content' }],
  });
  expect(result(of('text/html', '<p>'), { answer: 'object' })).toMatchObject({
    structuredContent: {},
    content: [{ text: '<p>' }],
  });
});

it.each([
  ['image/png', { type: 'image', mimeType: 'image/png', data: 'AAH/' }],
  ['audio/wav', { type: 'audio', mimeType: 'audio/wav', data: 'AAH/' }],
  [
    'application/pdf',
    { type: 'resource', resource: { uri: 'https://api.example/a', mimeType: 'application/pdf', blob: 'AAH/' } },
  ],
  ['text/plain', { type: 'resource', resource: { mimeType: 'text/plain', blob: 'AAH/' } }],
])('bytes of %s are the content %j', (type, content) => {
  expect(result(of(type, Buffer.from([0, 1, 255]))).content[0]).toMatchObject(content);
});

it('a refusal has its status, its reason and a bounded body', () => {
  const made = result({ ...of('application/json', `{"m":"${'x'.repeat(20_000)}"}`), status: 422 });
  expect(made).toMatchObject({ isError: true, _meta: { 'omnibus.dev/http': { status: 422 } } });
  expect(textOf(made)).toMatch(/^HTTP 422 Unprocessable Entity from POST \/a\.\nThe API says:\n/);
  expect(textOf(made).length).toBeLessThan(9_000);
});

it.each([
  [429, { 'retry-after': '30' }, 'did not execute this one. Call again after 30 s.'],
  [503, { 'retry-after': 'Thu, 01 Jan 1970 00:01:00 GMT' }, 'Call again after 60 s.'],
  [500, {}, 'It is unknown whether the API executed the request'],
  [401, {}, 'Its operator can set openapi.security.key.'],
  [302, {}, 'redirects to another address'],
])('HTTP %s with %j is explained', (status, headers, words) => {
  expect(textOf(result({ status, headers }))).toContain(words);
});

it('the arguments of the next page are named', () => {
  const headers = {
    link: '<https://api.example/a?page=2&secret=x>; rel="next", <https://api.example/a?page=9>; rel="last"',
    'content-type': 'application/json',
  };
  expect(textOf(result({ headers, body: Buffer.from('[]') }))).toBe(
    '[]\nThere are more. For the next page call this tool again with: {"page":"2"}',
  );
});
