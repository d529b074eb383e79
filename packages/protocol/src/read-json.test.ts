import { describe, expect, it } from 'vitest';
import { classify } from './json-rpc.ts';
import { readJson } from './read-json.ts';

const limits = { maxJsonDepth: 128, maxJsonValues: 1_000_000 };
const megabyte = 1024 * 1024;
const read = (input: Uint8Array | string, maxBytes = 8 * megabyte) => readJson(input, maxBytes, limits);
const value = (input: Uint8Array | string): unknown => {
  const answer = read(input, 16 * megabyte);
  if (answer.kind === 'refused') throw new Error(answer.problem);
  return answer.value;
};
const nested = (depth: number): string => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`;

describe('a message from outside', () => {
  it('that nests too deep is refused while it is read, before anything is built', () => {
    expect(value(nested(128))).toHaveLength(1);
    expect(read(nested(130))).toEqual({
      kind: 'refused',
      reason: 'message.too_deep',
      problem: 'the message nests deeper than 128 at byte 384',
    });
    const list = Array.from({ length: 60_000 }, () => ({}));
    expect(value(JSON.stringify(list))).toHaveLength(60_000);
    expect(read(JSON.stringify([...list, JSON.parse(nested(128))]))).toMatchObject({ reason: 'message.too_deep' });
    // These brackets are never closed: a parser would report invalid JSON instead.
    expect(read('['.repeat(8 * megabyte))).toMatchObject({ reason: 'message.too_deep' });
    expect(read(Buffer.from('{"a":'.repeat(megabyte)))).toMatchObject({ reason: 'message.too_deep' });
  });

  it('that holds more values than allowed is refused before they are built', () => {
    expect(read(`[${'{},'.repeat(600_000)}`)).toEqual({
      kind: 'refused',
      reason: 'message.too_many',
      problem: 'the message has more than 1000000 values at byte 1500000',
    });
    expect(value(`[${'0,'.repeat(999_998)}0]`)).toHaveLength(999_999);
  });

  it('that is too large is refused by its bytes, not its characters', () => {
    expect(read('"aaaa"', 6)).toEqual({ kind: 'json', value: 'aaaa' });
    expect(read('"äaaa"', 6)).toEqual({
      kind: 'refused',
      reason: 'message.too_large',
      problem: 'the message is larger than 6 bytes',
    });
    expect(read(Buffer.from('"äaaa"'), 6)).toMatchObject({ reason: 'message.too_large' });
  });

  it('may have any brackets, commas, quotes and backslashes in its strings, however long', () => {
    for (const text of [
      '['.repeat(1_000),
      '{"'.repeat(1_000),
      '\\',
      '\\\\"[',
      `${'x'.repeat(60)}\\`,
      `${'x'.repeat(47)}\\"${'['.repeat(200)}`,
      '\\"'.repeat(500),
      `${'["'.repeat(200)}${'\\'.repeat(201)}`,
    ]) {
      const message = { text, [text]: [text, { text }] };
      expect(value(JSON.stringify(message))).toEqual(message);
      expect(value(Buffer.from(JSON.stringify(message)))).toEqual(message);
    }
    // A string that is never closed is reported as invalid JSON, whatever it contains.
    expect(read(`["${'['.repeat(300)}`)).toMatchObject({ reason: 'message.not_json' });
    expect(read(`["${'['.repeat(300)}\\`)).toMatchObject({ reason: 'message.not_json' });
  });

  it('that is not UTF-8 is refused, and nothing in it becomes a replacement character', () => {
    const bad = (...bytes: number[]): Buffer =>
      Buffer.concat([Buffer.from(`{"a":"${'x'.repeat(3_000)}ä\u{fffd}`), Buffer.from(bytes), Buffer.from('"}')]);
    // A lone continuation byte, an overlong slash, half a surrogate pair, a code point beyond Unicode, and a truncated character.
    for (const bytes of [[0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]) {
      expect(read(bad(...bytes))).toEqual({
        kind: 'refused',
        reason: 'message.not_json',
        problem: 'the message is not UTF-8, somewhere after byte 2048',
      });
    }
    expect(read(Buffer.from('"€"').subarray(0, 3))).toMatchObject({ reason: 'message.not_json' });
    expect(value(Buffer.from('"\u{fffd}€😀\u{2028}"'))).toBe('\u{fffd}€😀\u{2028}');
  });

  it('may begin with one byte order mark, and with nothing else that is no JSON', () => {
    expect(value('\u{feff}{"a":1}')).toEqual({ a: 1 });
    expect(value(Buffer.from('\u{feff}{"a":1}'))).toEqual({ a: 1 });
    expect(value('{"a":"\u{feff}"}')).toEqual({ a: '\u{feff}' });
    for (const text of ['\u{feff}\u{feff}{}', '{}\u{feff}', '\u{a0}{}', '\0{}', ''])
      expect(read(text)).toMatchObject({ reason: 'message.not_json' });
    expect(read(Buffer.from('{"a":1}', 'utf16le'))).toMatchObject({ reason: 'message.not_json' });
  });

  it('that is not JSON is answered with the problem and its position, and none of its text', () => {
    const problem = (text: string) => read(text);
    expect(problem('{"ä":"secret",}')).toMatchObject({
      problem: 'the message is not JSON: Expected double-quoted property name at byte 15',
    });
    expect(problem('{"a":"secret"')).toMatchObject({
      problem: "the message is not JSON: Expected ',' or '}' after property value at byte 13",
    });
    expect(problem('{"a":')).toMatchObject({ problem: 'the message is not JSON: it ends too early, at byte 5' });
    expect(problem('{"secret":?}')).toMatchObject({ problem: 'the message is not JSON: unexpected "?"' });
    expect(problem('{"a":NaN}')).toMatchObject({ reason: 'message.not_json' });
  });

  it('keeps half a surrogate pair that is written as an escape', () => {
    expect(value(String.raw`{"\ud83d":"\ude00"}`)).toEqual({ '\u{d83d}': '\u{de00}' });
    expect(JSON.stringify(value(String.raw`["\ud83d"]`))).toBe(String.raw`["\ud83d"]`);
  });

  it('may have numbers of any size, which are carried as they were written', () => {
    expect(JSON.stringify(value('[1e400,-1e400,1e-400,1e999999999999]'))).toBe('[1e400,-1e400,1e-400,1e999999999999]');
    expect(JSON.stringify(value(`[${'9'.repeat(100_000)}]`))).toBe(`[${'9'.repeat(100_000)}]`);
    expect(JSON.stringify(value(`[0.${'3'.repeat(10 * megabyte)}]`))).toHaveLength(10 * megabyte + 4);
    // An id is an integer.
    expect(classify(value('{"jsonrpc":"2.0","id":1e400,"method":"ping"}'))).toMatchObject({
      kind: 'invalid',
      id: undefined,
    });
  });

  it('has the last of two equal keys, and keys of any length', () => {
    expect(value('{"a":1,"a":2}')).toEqual({ a: 2 });
    const key = 'k'.repeat(megabyte);
    expect(Object.keys(value(`{"${key}":1}`) as object)).toEqual([key]);
  });

  it('cannot give anything a prototype', () => {
    const message = value('{"__proto__":{"method":"tools/call","id":1},"constructor":{"prototype":{"id":1}}}') as {
      readonly method?: unknown;
    };
    expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
    expect(message.method).toBeUndefined();
    expect(classify(message)).toMatchObject({ kind: 'invalid', id: undefined });
    expect(({} as { readonly id?: unknown }).id).toBeUndefined();
  });
});
