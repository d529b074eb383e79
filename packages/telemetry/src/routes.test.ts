/** Paths of pages and APIs, their methods and parameters. */
import { expect, it } from 'vitest';
import { readMethods, Routes } from './routes.ts';

const routes = new Routes([
  [readMethods, '/servers', 'list'],
  [readMethods, '/servers/:name', 'show'],
  ['POST', '/servers/:name', 'change'],
  ['GET', '/connect/callback', 'callback'],
  [`${readMethods}, POST`, '/connect/:ticket{[\\w-]{22}}', 'ticket'],
  [readMethods, '/assets/*', 'asset'],
]);

it.each([
  ['GET', '/servers', { kind: 'route', to: 'list', params: {} }],
  ['HEAD', '/servers/a%2Fb%20c', { kind: 'route', to: 'show', params: { name: 'a/b c' } }],
  ['POST', '/servers/a', { kind: 'route', to: 'change', params: { name: 'a' } }],
  ['GET', '/connect/callback', { kind: 'route', to: 'callback', params: {} }],
  [
    'POST',
    '/connect/abcdefghijklmnopqrstuv',
    { kind: 'route', to: 'ticket', params: { ticket: 'abcdefghijklmnopqrstuv' } },
  ],
])('%s %s is found', (method, path, found) => {
  expect(routes.find(method, path)).toEqual(found);
});

it.each([
  ['POST', '/servers', 'GET, HEAD'],
  ['DELETE', '/servers/a', 'GET, HEAD, POST'],
  ['HEAD', '/connect/callback', 'GET'],
  ['', '/servers', 'GET, HEAD'],
])('a %s of %s is answered with the methods that the path takes', (method, path, allowed) => {
  expect(routes.find(method, path)).toEqual({ kind: 'method', allowed });
});

it.each([
  '/',
  '',
  '*',
  '/server',
  '/servers/a/b',
  '/servers//',
  '/connect/short',
  '/connect/abcdefghijklmnopqrstuv/x',
  'http://a/servers',
])('the path %j is unknown', (path) => {
  expect(routes.find('GET', path)).toEqual({ kind: 'unknown' });
  expect(routes.has(path)).toBe(false);
});

it('a parameter that is no text in UTF-8 is malformed, not an error', () => {
  expect(routes.find('GET', '/servers/%E0%A4%A')).toEqual({ kind: 'malformed', problem: expect.any(String) as string });
});
