/** The description of attempts for other programs. */
import { openApi } from '@omnibus/admin-api';
import { expect, it } from 'vitest';

it('the OpenAPI document describes what is sent to try a call, to follow it, to answer its questions and to cancel it', () => {
  const paths = openApi('1.0.0')['paths'] as Readonly<
    Record<string, Readonly<Record<string, { readonly responses: object }>>>
  >;
  expect(
    Object.entries(paths)
      .filter(([path]) => path.startsWith('/api/v1/try'))
      .map(([path, methods]) => [
        path,
        ...Object.entries(methods).map(([method, { responses }]) => `${method} ${Object.keys(responses)[0] ?? ''}`),
      ]),
  ).toEqual([
    ['/api/v1/try', 'post 202'],
    ['/api/v1/try/{id}/events', 'get 200'],
    ['/api/v1/try/{id}/answer', 'post 200'],
    ['/api/v1/try/{id}/cancel', 'post 200'],
  ]);
});
