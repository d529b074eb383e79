import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutUri, Recorder, ruleFor } from './redaction.ts';

const nothing = { keep: [], hash: [], redact: [] };
const record = (value: unknown, places: Partial<ConstructorParameters<typeof Recorder>[0]>): unknown => {
  const text = new Recorder({ ...nothing, ...places }, undefined).textOf(value);
  return text === undefined ? undefined : JSON.parse(text);
};

it('records nothing that no rule keeps, and of what is kept not what is redacted', () => {
  const value = { to: 'ann', body: { text: 'hello', token: 't' }, list: [{ a: 1, b: 2 }, 'x'], 'a/b': 3, '~': 4 };
  expect(record(value, {})).toBeUndefined();
  expect(record(value, { keep: ['/to', '/a~1b', '/~0'] })).toEqual({ to: 'ann', 'a/b': 3, '~': 4 });
  expect(record(value, { keep: [''], redact: ['/body/token', '/list/0/b'] })).toEqual({
    ...value,
    body: { text: 'hello', token: '[redacted]' },
    list: [{ a: 1, b: '[redacted]' }, 'x'],
  });
  expect(record(value, { keep: ['/body/token'], redact: ['/body'] })).toEqual({ body: '[redacted]' });
  expect(record(value, { hash: ['/to'] })).toEqual({ to: expect.stringMatching(/^sha256:/) as string });
  expect(record({ headers: { Authorization: 'Bearer x', cookie: 'c', accept: '*' } }, { keep: [''] })).toEqual({
    headers: { Authorization: '[redacted]', cookie: '[redacted]', accept: '*' },
  });
});

it('never records a value below a redacted or hashed place, whatever else is kept', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constant('leaf'),
      fc.dictionary(name, tie('value'), { maxKeys: 4 }),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  })).value;
  const pointer = fc
    .array(fc.oneof(name, fc.constantFrom('0', '1')), { minLength: 1, maxLength: 4 })
    .map((steps) => `/${steps.join('/')}`);
  fc.assert(
    fc.property(
      tree,
      fc.array(pointer, { maxLength: 4 }),
      fc.array(pointer, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('redact', 'hash'),
      (value, keep, hidden, fate) => {
        const marked = mark(value, hidden);
        const text =
          new Recorder(
            {
              ...nothing,
              keep: [
                '',
                ...keep.filter((each) => !hidden.some((place) => each === place || each.startsWith(`${place}/`))),
              ],
              [fate]: hidden,
            },
            undefined,
          ).textOf(marked) ?? '';
        expect(text).not.toContain('SECRET');
      },
    ),
  );
});

it('keeps to eight kilobytes, whatever it is given', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 100, maxLength: 4_000 }), { maxLength: 20 }), (value) => {
      expect((new Recorder({ ...nothing, keep: [''] }, undefined).textOf({ value }) ?? '').length).toBeLessThanOrEqual(
        8 * 1_024,
      );
    }),
  );
});

it('gives equal values equal digests, and others where the key is another', () => {
  const digest = (key: string): string | undefined =>
    new Recorder({ ...nothing, hash: ['/a'] }, Buffer.from(key)).textOf({ a: { y: 1, x: 2 } });
  expect(digest('one')).toBe(
    new Recorder({ ...nothing, hash: ['/a'] }, Buffer.from('one')).textOf({ a: { x: 2, y: 1 } }),
  );
  expect(digest('one')).not.toBe(digest('other'));
});

it('cuts addresses and finds the rule of a tool', () => {
  expect(cutUri('file:///a/b?x#y')).toBe('file:///a/b');
  expect(cutUri('postgres://u:p@db/x')).toBe('postgres://db/x');
  const rules = [{ tool: 'git.hub/get_*' }, { tool: '*' }];
  expect([ruleFor(rules, 'git.hub/get_x'), ruleFor(rules, 'gitxhub/get_x')]).toEqual([rules[0], rules[1]]);
});

/** Every leaf at or below one of these places says so. */
function mark(value: unknown, places: readonly string[], at = '', isBelow = false): unknown {
  const isHidden = isBelow || places.includes(at);
  if (Array.isArray(value)) return value.map((item, index) => mark(item, places, `${at}/${index}`, isHidden));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, mark(item, places, `${at}/${key}`, isHidden)]),
    );
  return isHidden ? 'SECRET' : value;
}
