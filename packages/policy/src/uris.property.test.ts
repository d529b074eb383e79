/** Spellings of URIs, made at random, compared with what browsers read (`URL`), as servers of the official SDKs do. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compile } from './policy.ts';
import { rightsToOnly } from './only.ts';
import type { Rights } from './rights.ts';
import type { RuleSettings } from './settings.ts';

/** A rule about a place, and URIs in it. Rules are written in several ways too. */
const places = [
  { globs: ['file:///R/secret/*', 'FILE:/R/secret/*', 'file:///%52/secret/*'], uri: 'file:///R/secret/b.txt' },
  { globs: ['file:///R/my%20docs/*', 'file:///R/my docs/*'], uri: 'file:///R/my%20docs/b.txt' },
  {
    globs: ['https://intranet/*', 'https://INTRANET:443/*', 'https:intranet/*', 'https://u@intranet./*'],
    uri: 'https://intranet/x/y',
  },
  { globs: ['http://127.0.0.1/*', 'http://0x7f.1:80/*'], uri: 'http://127.0.0.1/x' },
  { globs: ['note://vault/secret/*', 'NOTE://vault/%73ecret/*'], uri: 'note://vault/secret/1' },
] as const;

const at = fc.nat({ max: 40 });
const inserted = (text: string, index: number, more: string): string =>
  `${text.slice(0, index % (text.length + 1))}${more}${text.slice(index % (text.length + 1))}`;
/** Puts something behind the host. */
const behindHost = (uri: string, more: string): string => uri.replace(/^([^/]*\/\/[^/]*)/u, `$1${more}`);
const changes: fc.Arbitrary<(uri: string) => string> = fc.oneof(
  fc.tuple(at, fc.constantFrom('\t', '\n', '\r')).map(
    ([index, more]) =>
      (uri: string) =>
        inserted(uri, index, more),
  ),
  fc.constantFrom(' ', '\u0001', '\u001F', '\t ').map((more) => (uri: string) => `${more}${uri}`),
  fc.constantFrom(' ', '\n', '\u0000').map((more) => (uri: string) => `${uri}${more}`),
  at.map((index) => (uri: string) => {
    const place = index % uri.length;
    return `${uri.slice(0, place)}%${uri.charCodeAt(place).toString(16).padStart(2, '0')}${uri.slice(place + 1)}`;
  }),
  at.map((index) => (uri: string) => {
    const place = index % uri.length;
    return `${uri.slice(0, place)}${(uri[place] as string).toUpperCase()}${uri.slice(place + 1)}`;
  }),
  fc.constantFrom(':443', ':80', ':0443', '.', ':').map((more) => (uri: string) => behindHost(uri, more)),
  fc.constantFrom('u@', 'u:p@', '@').map((user) => (uri: string) => uri.replace('//', `//${user}`)),
  fc.constantFrom(':', ':/', ':///', ':\\\\', ':/\\').map((start) => (uri: string) => uri.replace('://', start)),
  at.map((index) => (uri: string) => {
    const slashes = [...uri.matchAll(/\//gu)].map((found) => found.index);
    const place = slashes[index % slashes.length] ?? 0;
    return `${uri.slice(0, place)}\\${uri.slice(place + 1)}`;
  }),
  fc
    .constantFrom('/x/..', '/.', '/%2e%2E/R/..', '/x/.%2e', '/./.', '/.\t./')
    .map((steps) => (uri: string) => behindHost(uri, steps)),
  fc.constantFrom('?a=b', '#a', '?', '#/../x').map((more) => (uri: string) => `${uri}${more}`),
  fc.constant((uri: string) => uri.replace('file:///', 'file://localhost/')),
);
const spellings = fc.array(changes, { minLength: 1, maxLength: 3 });
const spelled = (uri: string, made: readonly ((uri: string) => string)[]): string =>
  made.reduce((text, change) => change(text), uri);

/** The place that a server opens which parses with `URL` and decodes the path; undefined for an invalid URL. */
function opened(uri: string): string | undefined {
  const url = URL.parse(uri);
  if (url === null || !/^(?:%[\da-f]{2}|[^%])*$/iu.test(url.pathname)) return undefined;
  return `${url.protocol} ${url.host.replace(/\.$/u, '')} ${decodeURIComponent(url.pathname)}`;
}

function decided(rights: Rights, uri: string): string {
  const target = { kind: 'resource', server: 'a', name: uri } as const;
  return rights.decide(target, {
    facts: undefined,
    method: 'resources/read',
    args: undefined,
    now: 0,
    address: undefined,
    ...target,
  }).effect;
}

async function rightsBy(rule: RuleSettings, fallback: 'allow' | 'deny'): Promise<Rights> {
  const compiled = await compile({ default: fallback, rules: [rule] });
  if ('problems' in compiled) throw new Error(JSON.stringify(compiled.problems));
  return compiled.policy.rightsOf(undefined);
}

it('no spelling that a server reads as a denied URI evades a rule, however the rule is written', async () => {
  for (const { globs, uri } of places) {
    const denying = await Promise.all(
      globs.map((glob) => rightsBy({ who: 'everyone', deny: `resource:a/${glob}` }, 'allow')),
    );
    let same = 0;
    fc.assert(
      fc.property(spellings, (made) => {
        const variant = spelled(uri, made);
        if (opened(variant) !== opened(uri)) return;
        same += 1;
        expect([variant, denying.map((rights) => decided(rights, variant))]).toEqual([
          variant,
          globs.map(() => 'deny'),
        ]);
      }),
      { numRuns: 3_000 },
    );
    expect(same).toBeGreaterThan(300);
  }
});

it('no spelling is allowed that a server reads as something else than a rule or an API key allows', async () => {
  const allowing = [
    await rightsBy({ who: 'everyone', allow: 'resource:a/file:///R/public/*' }, 'deny'),
    rightsToOnly(['resource:a/file:///R/public/*']),
  ];
  let allowed = 0;
  const steps = fc
    .constantFrom('/..', '/../secret', '/.\t./secret', '/%2e%2e/secret', '/.%0a./secret', '\\..\\secret', '/.\n.')
    .map((more) => (uri: string) => uri.replace('/public', `/public${more}`));
  fc.assert(
    fc.property(fc.array(fc.oneof(changes, steps), { maxLength: 3 }), (made) => {
      const variant = spelled('file:///R/public/a.txt', made);
      const outcomes = allowing.map((rights) => decided(rights, variant));
      expect(new Set(outcomes).size).toBe(1);
      if (outcomes[0] !== 'allow') return;
      allowed += 1;
      const place = opened(variant);
      if (place !== undefined) expect([variant, place.startsWith('file:  /R/public/')]).toEqual([variant, true]);
    }),
    { numRuns: 5_000 },
  );
  expect(allowed).toBeGreaterThan(100);
});
