/** Previews by type, and parts of texts. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { defaultLimits, type JsonObject } from '@omnibus/protocol';
import { cutTo } from './bounded.ts';
import { valueAt } from './json-preview.ts';
import { pixelsOf } from './media.ts';
import { beginning, ending, lineCount, sliceBytes, sliceLines } from './texts.ts';

const uri = 'omnibus://result/abc';

function previewed(result: JsonObject, maxTokens = 500): readonly JsonObject[] {
  const cut = cutTo(maxTokens, result, false, defaultLimits);
  return (cut?.answer({ uri, keepMs: 60_000 })['content'] ?? []) as readonly JsonObject[];
}

const first = (result: JsonObject, maxTokens?: number): string => String(previewed(result, maxTokens)[0]?.['text']);
const textOf = (text: string): JsonObject => ({ content: [{ type: 'text', text }] });

it('a text shows its head and tail, with counts', () => {
  const text = Array.from({ length: 1_000 }, (_none, at) => `line ${at}\n`).join('');
  const shown = first(textOf(text));
  expect(shown).toMatch(/^text, 8,890 bytes, 1,000 lines\nline 0\nline 1\n/);
  expect(shown).toMatch(/line 999\n$/);
  expect(shown).toMatch(/\[… bytes \d+-\d+, about \d+ lines, are left out …\]/);
});

it('JSON shows its shape, its single values and its first elements, all exact', () => {
  const text = `{"total": 1.0, "id": 12345678901234567890, "items": [${Array.from({ length: 500 }, (_none, at) => `{"n":${at}${at % 2 === 0 ? ',"even":true' : ''}}`).join(',')}]}`;
  const shown = first(textOf(text));
  expect(shown).toContain('shape: {total: number, id: number, items: [500 × {n: number, even: boolean}]}');
  expect(shown).toContain('/total 1.0\n/id 12345678901234567890\n/items/0 {"n":0,"even":true}\n/items/1 {"n":1}\n');
});

it('a table in CSV shows columns, types, rows and its first lines', () => {
  const rows = Array.from({ length: 300 }, (_none, at) => `${at},"name, ${at}",${at / 4}\n`).join('');
  const shown = first(textOf(`id,name,share\n${rows}`));
  expect(shown).toContain(
    'table of 300 rows; columns: id number, name text, share number; first rows:\nid,name,share\n0,"name, 0",0\n',
  );
});

it('a picture shows type, bytes and pixels; other bytes their type and number', () => {
  const png = Buffer.alloc(9_000);
  png.write('\u0089PNG', 'latin1');
  png.writeUInt32BE(640, 16);
  png.writeUInt32BE(480, 20);
  const data = png.toString('base64');
  expect(first({ content: [{ type: 'image', data, mimeType: 'image/png' }] })).toBe(
    'image/png, 9,000 bytes, 640 × 480 pixels',
  );
  expect(first({ content: [{ type: 'audio', data, mimeType: 'audio/wav' }] })).toContain('audio/wav, 9,000 bytes');
  expect(pixelsOf(Buffer.from('GIF89a\u0005\u0000\u0007\u0000', 'latin1').toString('base64'))).toEqual({
    width: 5,
    height: 7,
  });
  const jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc2, 0, 11, 8, 0, 9, 0, 12, 3];
  expect(pixelsOf(Buffer.from(jpeg).toString('base64'))).toEqual({ width: 12, height: 9 });
  expect(pixelsOf(Buffer.from(jpeg.slice(0, 12)).toString('base64'))).toBeUndefined();
  expect(pixelsOf('')).toBeUndefined();
});

it('small blocks stay, large ones become parts, and what cannot be shown is counted', () => {
  const small = { type: 'text', text: 'Found 9.' };
  const content = [
    small,
    ...Array.from({ length: 9 }, (_none, at) => ({ type: 'text', text: String(at).repeat(4_000) })),
  ];
  const shown = previewed({ content });
  expect(shown[0]).toEqual(small);
  expect(shown[1]?.['text']).toMatch(/^part 1: text, 4,000 bytes/);
  expect(JSON.stringify(shown)).toContain('5 more parts are not shown');
  expect(shown.at(-1)).toMatchObject({ type: 'resource_link', uri });
});

it('a result that says the same as text and as structured content is stored once', () => {
  const structuredContent = { rows: Array.from({ length: 900 }, (_none, id) => ({ id })) };
  const pretty = textOf(JSON.stringify(structuredContent, null, 2));
  expect(cutTo(300, { ...pretty, structuredContent }, false, defaultLimits)?.parts).toHaveLength(1);
  expect(cutTo(300, { ...textOf('x'.repeat(9_000)), structuredContent }, false, defaultLimits)?.parts).toHaveLength(2);
});

it('no result of any form costs more than its bound', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3_000 }),
    fc.json({ maxDepth: 4 }),
    fc.constant('"\\\n'.repeat(3_000)),
  );
  const block = fc.oneof(
    text.map((each) => ({ type: 'text', text: each.repeat(4) })),
    fc.record({
      type: fc.constant('image'),
      data: fc.base64String({ maxLength: 4_000 }),
      mimeType: fc.string({ maxLength: 3_000 }),
    }),
    fc.record({
      type: fc.constant('resource_link'),
      uri: fc.string({ maxLength: 900 }),
      name: fc.string({ maxLength: 900 }),
    }),
  );
  fc.assert(
    fc.property(fc.array(block, { maxLength: 12 }), fc.integer({ min: 200, max: 600 }), (content, maxTokens) => {
      const cut = cutTo(maxTokens, { content }, false, defaultLimits);
      const answer = cut?.answer({ uri: `omnibus://result/${'a'.repeat(90)}`, keepMs: 86_400_000 }) ?? { content };
      expect(JSON.stringify(answer['content']).length).toBeLessThanOrEqual(4 * maxTokens);
    }),
    { numRuns: 300 },
  );
});

it('ranges of bytes and of lines that follow each other give the whole text, each character once', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (text, step) => {
      let all = '';
      for (let at = 0; at < Buffer.byteLength(text); at += step) all += sliceBytes(text, at, at + step).text;
      expect(all).toBe(text);
      const lines = text.replaceAll(/[a-m]/g, '\n');
      let byLine = '';
      for (let line = 1; line <= lineCount(lines); line += step) byLine += sliceLines(lines, line, line + step - 1);
      expect(byLine).toBe(lines);
      expect(text.startsWith(beginning(text, step * 4))).toBe(true);
      expect(text.endsWith(ending(text, step * 4))).toBe(true);
    }),
  );
});

it('a JSON pointer names a value, or none', () => {
  const value = { 'a/b': [{ '~': 1 }], empty: '' };
  expect(valueAt(value, '/a~1b/0/~0')).toEqual({ value: 1 });
  expect(valueAt(value, '')).toEqual({ value });
  for (const none of ['a', '/a', '/a~1b/01', '/a~1b/length', '/empty/0', '/constructor'])
    expect(valueAt(value, none)).toBeUndefined();
});
