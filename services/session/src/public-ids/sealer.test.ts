import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { parseSealingKeys } from '@omnibus/identity';
import { Sealer } from './sealer.ts';

const written = (bytes = 32): string => randomBytes(bytes).toString('base64');

it('what is sealed is opened with the same key and for the same purpose, and with nothing else', () => {
  const keys = parseSealingKeys(written());
  const sealed = new Sealer(keys).seal('task', 'secret');
  expect(new Sealer(keys).open('task', sealed)).toBe('secret');
  expect(new Sealer(keys).open('request-state', sealed)).toBeUndefined();
  expect(new Sealer().open('task', sealed)).toBeUndefined();
});

it('keys are rotated: the first one seals, all of them open', () => {
  const [old, next] = [written(), written()];
  const before = new Sealer(parseSealingKeys(old));
  const during = new Sealer(parseSealingKeys(`${next}\n${old}\n`));
  const after = new Sealer(parseSealingKeys(next));
  const kept = before.seal('task', 'made before');
  expect(during.open('task', kept)).toBe('made before');
  expect(after.open('task', kept)).toBeUndefined();
  expect(after.open('task', during.seal('task', 'made meanwhile'))).toBe('made meanwhile');
});

it('a key may be written as base64 or base64url, in a list with commas, spaces or lines', () => {
  const keys = [randomBytes(32), randomBytes(48)];
  const text = `${keys[0]?.toString('base64')},\n  ${keys[1]?.toString('base64url')} `;
  expect(parseSealingKeys(text)).toEqual(keys);
});

it.each([
  ['nothing', ' \n', 'there is no key in it'],
  ['no base64', 'ä'.repeat(44), 'the key is not base64'],
  ['a short one', written(16), 'the key has 16 bytes; at least 32 are needed'],
  ['a short one among others', `${written()} ${written(31)}`, 'key 2 of 2 has 31 bytes'],
  ['far too many', Array.from({ length: 17 }, () => written()).join(','), 'it has 17 keys'],
])('%s is refused in words that do not repeat it', (_what, text, problem) => {
  expect(() => parseSealingKeys(text)).toThrow(problem);
  const said = (() => {
    try {
      parseSealingKeys(text);
      return '';
    } catch (error) {
      return String(error);
    }
  })();
  for (const key of text.split(/[\s,]+/).filter((each) => each !== '')) expect(said).not.toContain(key);
});
