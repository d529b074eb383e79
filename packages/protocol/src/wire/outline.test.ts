import { array, assert, constantFrom, jsonValue, property, record, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../json-rpc.ts';
import { defaultLimits } from '../limits.ts';
import {
  AwayError,
  unread,
  wire,
  type AwayBytes,
  type JsonBytes,
  type MayBeUnread,
  type MayHaveBytes,
} from './marks.ts';
import { outlineOf, resultOfOutline, type Outline } from './outline.ts';
import { readResult } from './read-answer.ts';

const long = 'é'.repeat(500);
const written = `{"content":[{"type":"text","text":"${long}"},{"type":"resource","resource":{"uri":"a:b","text":"${long}"}}], "isError" : false,"structuredContent":{"a":[1]}}`;

type Read = JsonObject & MayHaveBytes;
const read = (text: string): Read => readResult(Buffer.from(text), defaultLimits) as Read;
/** What another process gets. */
function sent(text: string): { readonly outline: Outline; readonly bytes: Buffer } {
  const { outline, bytes } = outlineOf(read(text)) as NonNullable<ReturnType<typeof outlineOf>>;
  return { outline: JSON.parse(JSON.stringify(outline)) as Outline, bytes: Buffer.from(String(bytes)) };
}
function away(text: string): { readonly result: Read; readonly bytes: Buffer } {
  const { outline, bytes } = sent(text);
  const kept = { length: bytes.length, fetch: () => Promise.resolve(bytes) };
  return { result: resultOfOutline(outline, kept) as Read, bytes };
}
const textOf = (made: JsonBytes | undefined, bytes: Buffer): string => (made as AwayBytes).here(bytes).toString();

describe('the outline of a large result', () => {
  it('has its small values and the types of its large ones, whose reading fails', () => {
    const { result, bytes } = away(written);
    expect(JSON.stringify(sent(written).outline).length).toBeLessThan(500);
    const [block, other] = result['content'] as readonly [JsonObject & MayBeUnread, JsonObject];
    expect([block['type'], block[unread]?.get('text')?.kind, result['isError']]).toEqual(['text', 'string', false]);
    expect((other['resource'] as JsonObject)['uri']).toBe('a:b');
    expect((result['structuredContent'] as MayBeUnread)[unread]?.get('a')?.kind).toBe('object');
    for (const look of [
      () => block['text'],
      () => ({ ...block }),
      () => JSON.stringify(result),
      () => String(result[wire]?.bytes),
    ])
      expect(look).toThrow(AwayError);
    expect(textOf(result[wire]?.bytes, bytes)).toBe(written);
    expect(result[wire]?.away?.length).toBe(bytes.length);
  });

  it('passes on with other members, and between other texts, as a result that is there', () => {
    const { result, bytes } = away(written);
    const given = [{ resultType: 'complete', isError: true }, { _meta: { b: 'é' } }] as const;
    const made = result[wire]?.with(result, ...given) as Read;
    const here = read(written);
    const expected = `[${String((here[wire]?.with(here, ...given) as Read)[wire]?.bytes)}]`;
    const whole = made[wire]?.bytes?.within('[', ']');
    expect(textOf(whole, bytes)).toBe(expected);
    expect(whole?.length).toBe(Buffer.byteLength(expected));
  });

  it('is there for no result that code has read, copied or changed', () => {
    const looked = read(written);
    void (looked['structuredContent'] as JsonObject)['a'];
    const changed = read(written);
    for (const result of [looked, { ...read(written) }, changed[wire]?.with(changed, {}, { _meta: {} }) as Read])
      expect(outlineOf(result)).toBeUndefined();
  });

  it('has the bytes and the small values of every result', () => {
    const value = jsonValue({ maxDepth: 3 }).map((made) => JSON.stringify(made));
    const blocks = array(
      record({ type: constantFrom('text', 'image'), text: string({ maxLength: 400 }), annotations: jsonValue() }),
      { maxLength: 4 },
    );
    assert(
      property(blocks, value, (content, structured) => {
        const text = `{"content":${JSON.stringify(content)},"structuredContent":${structured}}`;
        const result = readResult(Buffer.from(text), defaultLimits);
        const found = result === undefined ? undefined : outlineOf(result);
        if (found === undefined) return;
        const there = away(text);
        expect(textOf(there.result[wire]?.bytes, there.bytes)).toBe(text);
        expect(there.result[wire]?.hasNulls).toBe((result as Read)[wire]?.hasNulls);
        expect(outlineKept(there.result)).toEqual(outlineKept(result as Read));
      }),
    );
  });

  /** The values and types that can be seen without reading. */
  function outlineKept(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const kinds = (value as MayBeUnread)[unread];
    return Object.keys(value).map((name) => [name, kinds?.get(name)?.kind ?? outlineKept((value as JsonObject)[name])]);
  }

  it.each<[string, (outline: { -readonly [name in keyof Outline]: unknown }) => void]>([
    ['a result that is none', (outline) => (outline.result = 'text')],
    ['members that are none', (outline) => (outline.members = [['content', 1]])],
    [
      'a member beyond the bytes',
      (outline) =>
        (outline.members = [
          ['content', 1, 1e6],
          ['isError', 1e6, 1e6],
          ['structuredContent', 1e6, 1e6],
        ]),
    ],
    ['members in another order', (outline) => (outline.members = (outline.members as unknown[]).toReversed())],
    ['too few members', (outline) => (outline.members as unknown[]).pop()],
    ['a member that the result does not have', (outline) => (outline.members = [['toString', 1, 2]])],
    ['no places', (outline) => (outline.unread = undefined)],
    ['a place that is none', (outline) => (outline.unread = ['content'])],
    ['an empty place', (outline) => (outline.unread = [[]])],
    ['a place that is not there', (outline) => (outline.unread = [['content', 7, 'text']])],
    [
      'the same place twice',
      (outline) =>
        (outline.unread = [
          ['content', 0, 'text'],
          ['content', 0, 'text'],
        ]),
    ],
    ['a place inside another one', (outline) => (outline.unread = [['structuredContent'], ['structuredContent', 'a']])],
    ['the place of a small value', (outline) => (outline.unread = [['isError']])],
    ['an inherited place', (outline) => (outline.unread = [['content', '__proto__']])],
  ])('with %s is none', (_what, breaks) => {
    const { outline, bytes } = sent(written);
    breaks(outline);
    expect(resultOfOutline(outline, { length: bytes.length, fetch: () => Promise.resolve(bytes) })).toBeUndefined();
  });
});
