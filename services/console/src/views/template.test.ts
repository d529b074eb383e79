import { expect, it } from 'vitest';
import { expand, variablesOf } from './template.ts';

it('values make an address of a template, as RFC 6570 writes it, and what has no value is left out', () => {
  const template = 'shop://{region}/articles/{+path}{?q,limit}{&page}';
  expect(variablesOf(template)).toEqual(['region', 'path', 'q', 'limit', 'page']);
  expect(expand(template, { region: 'a b', path: 'lamps/red', q: 'x&y', page: '2' })).toBe(
    'shop://a%20b/articles/lamps/red?q=x%26y&page=2',
  );
  expect(expand('file:///{folder}{/rest*}', { folder: 'a' })).toBe('file:///a');
});
