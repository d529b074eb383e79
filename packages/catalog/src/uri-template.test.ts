import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseServerName } from '@omnibus/protocol';
import { UriTemplate } from './uri-template.ts';
import { ResourceIndex } from './uris.ts';

const matches = (template: string, uri: string): boolean | undefined => UriTemplate.parse(template)?.matches(uri);

/** The matches of a template, by definition: the pattern a regular expression engine tries in every possible way. */
function naive(template: string): RegExp {
  const expansion: Record<string, string> = {
    '+': '.+',
    '#': '(?:#.*)?',
    '.': '(?:\\.[^/?#]*)?',
    '/': '(?:/[^?#]*)?',
    ';': '(?:;[^/?#]*)?',
    '?': '(?:\\?[^#]*)?',
    '&': '(?:&[^#]*)?',
  };
  const parts = template.split(/(\{[^{}]*\})/).map((part) => {
    if (!/^\{.*\}$/.test(part)) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return expansion[part.charAt(1)] ?? (part.endsWith('*}') ? '[^?#]+' : '[^/?#]+');
  });
  return new RegExp(`^${parts.join('')}$`, 's');
}

describe('a resource template', () => {
  it('matches the URIs it can expand to, in every form of RFC 6570', () => {
    for (const [template, uri, fits] of [
      ['db://{table}/{id}', 'db://users/1', true],
      ['db://{table}/{id}', 'db://users/1/2', false],
      ['db://{table}/{id}', 'db:///1', false],
      ['web://{+rest}', 'web://a/b?c#d', true],
      ['web://{+rest}', 'web://', false],
      ['f://x{#part}', 'f://x', true],
      ['f://x{#part}', 'f://x#y', true],
      ['f://x{#part}', 'f://xy', false],
      ['f://a{.ext}', 'f://a.txt', true],
      ['f://a{/path*}', 'f://a/b/c', true],
      ['f://a{;x,y}', 'f://a;x=1;y=2', true],
      ['f://a{?q}', 'f://a?q=1', true],
      ['f://a{?q}{&r}', 'f://a?q=1&r=2', true],
      ['f://{path*}/end', 'f://a/b/end', true],
      ['f://a.c', 'f://abc', false],
      ['', '', true],
      ['{x', '{x', true],
      ['a{}b', 'axb', true],
    ] as const)
      expect(matches(template, uri), `${template} ${uri}`).toBe(fits);
  });

  it('matches exactly what a pattern that tries everything matches', () => {
    const part = fc.constantFrom(
      '{a}',
      '{+a}',
      '{#a}',
      '{.a}',
      '{/a}',
      '{;a}',
      '{?a}',
      '{&a}',
      '{a*}',
      'a',
      'b',
      '/',
      '.',
      'ab',
      '?',
      '#',
    );
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 5 }),
        fc.array(fc.constantFrom('a', 'b', '/', '.', '?', '#', ';', '&'), { maxLength: 8 }),
        (parts, characters) => {
          expect(matches(parts.join(''), characters.join(''))).toBe(naive(parts.join('')).test(characters.join('')));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it(
    'of ten expansions that may each hold anything does not take longer for a URI that does not fit',
    { timeout: 60_000 },
    () => {
      const began = Date.now();
      for (const template of [
        `${'{+a}'.repeat(10)}!{b}`,
        `x${'{+a}x'.repeat(10)}!{b}`,
        `${'{a}{+b}'.repeat(5)}!{b}`,
        `${'{?a}{#b}{+c}'.repeat(5)}!{b}`,
      ]) {
        expect(matches(template, 'x'.repeat(70))).toBe(false);
        expect(matches(template, 'x'.repeat(2_000))).toBe(false);
      }
      expect(Date.now() - began).toBeLessThan(10_000);
    },
  );

  it('that is too long or too rich is not matched, and no URI of any length is a burden', () => {
    expect(UriTemplate.parse('{+a}'.repeat(17))).toBeUndefined();
    expect(UriTemplate.parse('a'.repeat(1_025))).toBeUndefined();
    expect(matches('a{+b}', `a${'x'.repeat(3_000)}`)).toBe(false);
    const [bad, good] = [parseServerName('bad'), parseServerName('good')];
    const templates = Array.from({ length: 50_000 }, (_, index) => ({
      server: bad,
      uriTemplate: `${'{+a}x'.repeat(15)}${index}`,
    }));
    const index = new ResourceIndex([], [...templates, { server: good, uriTemplate: 'good://{+a}' }]);
    const began = Date.now();
    expect(index.ownerOf(`good://${'x'.repeat(2_000)}`)).toBe(good);
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  it('says of each server how specific its claim to a URI is', () => {
    const [broad, narrow] = [parseServerName('broad'), parseServerName('narrow')];
    const index = new ResourceIndex(
      [{ server: broad, uri: 'mem://listed' }],
      [
        { server: broad, uriTemplate: 'mem://{+p}' },
        { server: narrow, uriTemplate: 'mem://notes/{id}' },
        { server: narrow, uriTemplate: 'mem://{+q}' },
      ],
    );
    expect(index.matches('mem://notes/1')).toEqual([
      { server: narrow, specificity: 12 },
      { server: broad, specificity: 6 },
    ]);
    expect(index.matches('mem://other')).toEqual([
      { server: broad, specificity: 6 },
      { server: narrow, specificity: 6 },
    ]);
    expect(index.matches('mem://listed')).toEqual([{ server: broad, specificity: Infinity }]);
    expect(index.matches('other://x')).toEqual([]);
  });
});
