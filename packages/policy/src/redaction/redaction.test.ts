import fc from 'fast-check';
import { parseJson, type JsonObject } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { compileRedaction, Redaction, type RedactSettings } from './redaction.ts';

const redaction = (given: Partial<RedactSettings>): Redaction =>
  new Redaction([compileRedaction('r', { patterns: [], paths: [], unreadable: 'withhold', ...given })]);
const textOf = (text: string, ...patterns: string[]): unknown => redaction({ patterns }).said(text);
const mark = '[redacted]';

describe('patterns', () => {
  it.each([
    ['email', 'write to Ann.O+x@mail.example.co.uk, please', `write to ${mark}, please`],
    ['email', 'jörg@bücher.example', mark],
    ['email', 'a @ b, x@y, @name', 'a @ b, x@y, @name'],
    ['card', 'paid with 4111 1111 1111 1111 12/29', `paid with ${mark} 12/29`],
    ['card', '4111-1111-1111-1111', mark],
    ['card', '378282246310005', mark],
    ['card', 'order 4111111111111112', 'order 4111111111111112'],
    ['card', '12 4111 1111 1111 1111', `12 ${mark}`],
    ['card', '0000 0000 0000 0000', '0000 0000 0000 0000'],
    ['card', '2026-11-22 10:11:12', '2026-11-22 10:11:12'],
    ['iban', 'to DE89 3704 0044 0532 0130 00 AND MORE', `to ${mark} AND MORE`],
    ['iban', 'GB82WEST12345698765432', mark],
    ['iban', 'DE89370400440532013001', 'DE89370400440532013001'],
    ['key', 'token ghp_0123456789abcdefghij!', `token ${mark}!`],
    ['key', 'AKIAIOSFODNN7EXAMPLE', mark],
    ['key', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF', mark],
    ['key', 'x -----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', `x ${mark}`],
    ['EMP-[0-9]{6}', 'EMP-123456 and EMP-12', `${mark} and EMP-12`],
    ['\\bID\\d{2,4}\\b', 'ID12 XID12 ID12345', `${mark} XID12 ID12345`],
  ])('%s: %s', (pattern, text, expected) => {
    expect(textOf(text, pattern)).toBe(expected);
  });

  it.each([
    '(a+)+b',
    'a*',
    'a+',
    '.',
    'a|b',
    '^a',
    'a{2,1}',
    'a{0,99}b{0,99}c',
    'a?',
    '[',
    '\\1',
    'x'.repeat(301),
    'phone'.concat('*'),
  ])('%s is not taken', (pattern) => {
    expect(() => compileRedaction('r', { patterns: [pattern], paths: [], unreadable: 'withhold' })).toThrow();
  });

  it(
    'takes about as long for each character, whatever stands there: no text is more than the time of a test can hold',
    { timeout: 120_000 },
    () => {
      const texts = [
        'a',
        '1',
        '1 ',
        'a@',
        'A',
        'DE11',
        'eyJ-',
        'ghp_',
        '-----BEGIN PRIVATE KEY-----',
        'a.',
        '@a.',
        '1-',
        '-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----',
        String.raw`\n`,
      ].map((each) => each.repeat(Math.floor(500_000 / each.length)));
      const all = redaction({ patterns: ['email', 'card', 'iban', 'key', '[a-z]{1,30}x[a-z]{1,30}'] });
      for (const text of texts) expect(all.said(text)).toBeTypeOf('string');
    },
  );
});

it('is applied wherever a server says something: texts, structured results, embedded resources, prompts, names of members, numbers', () => {
  const { patterns } = { patterns: ['email', 'card'] };
  const made = redaction({ patterns }).result({
    content: [
      { type: 'text', text: 'ann@x.example' },
      { type: 'resource', resource: { uri: 'a://b', text: 'ann@x.example' } },
      { type: 'resource_link', uri: 'a://c', name: 'ann@x.example' },
    ],
    structuredContent: { 'ann@x.example': [{ card: 4111111111111111, to: 'ann@x.example' }], plain: 1 },
    messages: [{ role: 'user', content: { type: 'text', text: 'ann@x.example' } }],
    contents: [{ uri: 'a://b', mimeType: 'text/plain', text: 'ann@x.example' }],
    _meta: { note: 'ann@x.example' },
    completion: { values: ['ann@x.example'] },
    isError: true,
  });
  expect(JSON.stringify(made)).not.toMatch(/ann@|4111/);
  expect(made).toMatchObject({
    structuredContent: { [mark]: [{ card: mark }], plain: 1 },
    isError: true,
    content: [{ type: 'text', text: mark }, { resource: { uri: 'a://b', text: mark } }, { name: mark }],
  });
});

it('leaves what it does not change as it is, exact numbers among it', () => {
  const result = parseJson(
    '{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":12345678901234567890,"big":1e400,"list":[1.10,{"a":-0}],"mail":"ann@x.example"}}',
  ) as JsonObject;
  const plain = redaction({ patterns: ['key'] }).result(result);
  expect(plain).toBe(result);
  expect(
    JSON.stringify(redaction({ patterns: ['email'], paths: ['/list/*/a'] }).result({ ...result, content: [] })),
  ).toBe(
    '{"content":[],"structuredContent":{"n":12345678901234567890,"big":1e400,"list":[1.10,{"a":"[redacted]"}],"mail":"[redacted]"}}',
  );
});

it('what is at a path is taken out of structured results, and of texts that say the same as JSON', () => {
  const structuredContent = {
    customers: [
      { name: 'ann', phone: 1, tags: { phone: 2 } },
      { name: 'bob', phone: [3] },
    ],
    __proto__x: 1,
  };
  const paths = redaction({ paths: ['/customers/*/phone', '/none/*', '/a~1b'] });
  const expected = {
    customers: [
      { name: 'ann', phone: mark, tags: { phone: 2 } },
      { name: 'bob', phone: mark },
    ],
    __proto__x: 1,
  };
  expect(
    paths.result({ structuredContent, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] }),
  ).toEqual({ structuredContent: expected, content: [{ type: 'text', text: JSON.stringify(expected) }] });
  // In prose, the values of paths cannot be found.
  expect(paths.result({ content: [{ type: 'text', text: 'the phone is 1' }] })).toEqual({
    content: [{ type: 'text', text: '[withheld: this cannot be redacted]' }],
  });
  expect(
    redaction({ paths: ['/a'], unreadable: 'pass' }).result({ content: [{ type: 'text', text: 'the phone is 1' }] }),
  ).toEqual({ content: [{ type: 'text', text: 'the phone is 1' }] });
});

describe('a text that is JSON is searched as what it says, and stays JSON', () => {
  const pem =
    '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEA+/x=\n-----END PRIVATE KEY-----\n';
  const all = ['key', 'email', 'card'];
  it.each<[string, string, string]>([
    [
      'a private key whose line ends are escaped',
      JSON.stringify({ id: 1, private_key: pem, to: 'x' }),
      JSON.stringify({ id: 1, private_key: `${mark}\n`, to: 'x' }),
    ],
    [
      'an address after an escaped line end',
      JSON.stringify({ note: 'contact:\nann@x.example' }),
      JSON.stringify({ note: `contact:\n${mark}` }),
    ],
    [
      'an address in which a character is escaped',
      String.raw`{"to":"ann\u0040x.example"}`,
      JSON.stringify({ to: mark }),
    ],
    [
      'an address between escaped angles',
      String.raw`{"to":"\u003cann@x.example\u003e"}`,
      JSON.stringify({ to: `<${mark}>` }),
    ],
    [
      'a number',
      '{"card":4111111111111111,"big":12345678901234567890}',
      `{"card":"${mark}","big":12345678901234567890}`,
    ],
    ['a list with indentation', '[\n  {\n    "to": "ann@x.example"\n  }\n]', `[\n  {\n    "to": "${mark}"\n  }\n]`],
    ['a text in quotes', JSON.stringify('to:\tann@x.example'), JSON.stringify(`to:\t${mark}`)],
    ['a member that stands twice', '{"a":"ann@x.example","a":"x"}', `{"a":"${mark}","a":"x"}`],
    ['a line of a log that is no JSON as a whole', `key=${JSON.stringify(pem)} end`, `key="${mark}\\n" end`],
    ['what only begins like JSON', '[see] ann@x.example', `[see] ${mark}`],
  ])('%s', (_what, given, expected) => {
    expect(redaction({ patterns: all }).result({ content: [{ type: 'text', text: given }] })).toEqual({
      content: [{ type: 'text', text: expected }],
    });
  });

  it('also inside of structured results, arguments and errors, and of JSON in JSON; nested beyond all reason it is a text like others', () => {
    const within = JSON.stringify({ body: JSON.stringify({ note: 'contact:\nann@x.example' }) });
    const expected = JSON.stringify({ body: JSON.stringify({ note: `contact:\n${mark}` }) });
    expect(redaction({ patterns: all }).result({ structuredContent: { result: within } })).toEqual({
      structuredContent: { result: expected },
    });
    expect(redaction({ patterns: all }).said({ arguments: { body: within } })).toEqual({
      arguments: { body: expected },
    });
    const deep = `${'['.repeat(100_000)}"ann@x.example\\n"${']'.repeat(100_000)}`;
    expect(textOf(deep, 'email')).toBe(deep.replace('ann@x.example', mark));
  });

  it('a JSON text of which nothing is redacted stays as it is written', () => {
    const given = { content: [{ type: 'text', text: '{ "a" : "b\\n\\u0041", "n":1.0 }' }] };
    expect(redaction({ patterns: all }).result(given)).toBe(given);
  });
});

it.each([
  [
    'one of PGP',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v1.4.11 (GNU/Linux)\n\nlQOYBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----',
    mark,
  ],
  [
    'what comes after it',
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nand then words. ',
    `${mark}\nand then words. `,
  ],
  [
    'two of them',
    '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----',
    `${mark}\n${mark}`,
  ],
  ['one without an end', 'x -----BEGIN PRIVATE KEY-----\nMIIE', `x ${mark}`],
])('a private key: %s', (_what, text, expected) => {
  expect(textOf(text, 'key')).toBe(expected);
});

it('what cannot be looked into is withheld, or passes where the rule says so', () => {
  const result = {
    content: [
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'resource', resource: { uri: 'a://b', blob: 'AAAA' } },
    ],
    contents: [{ uri: 'a://b', mimeType: 'image/png', blob: 'AAAA' }],
  };
  expect(JSON.stringify(redaction({ patterns: ['email'] }).result(result))).not.toContain('AAAA');
  expect(redaction({ patterns: ['email'], unreadable: 'pass' }).result(result)).toBe(result);
  const long = { content: [{ type: 'text', text: 'x'.repeat(1_100_000) }] };
  expect(redaction({ patterns: ['email'] }).result(long)).toEqual({
    content: [{ type: 'text', text: '[withheld: this cannot be redacted]' }],
    isError: true,
  });
  expect(redaction({ patterns: ['email'], unreadable: 'pass' }).result(long)).toBe(long);
});

it('of any JSON, nothing is lost but what is redacted', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.stringify(redaction({ patterns: ['EMP-[0-9]{6}'], paths: ['/nowhere/at/all'] }).said(value))).toBe(
        JSON.stringify(value),
      );
      expect(
        JSON.stringify(redaction({ patterns: ['email'] }).said({ before: value, mail: 'ann@x.example', after: value })),
      ).toContain(mark);
    }),
    { numRuns: 200 },
  );
});
