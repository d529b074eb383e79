import { expect, it } from 'vitest';
import {
  defaultLimits,
  JsonBytes,
  readAnswer,
  wire,
  withText,
  type JsonObject,
  type MayHaveBytes,
} from '@omnibus/protocol';
import { decode, decodeReply, encode, encodeReply } from './codec.ts';

const written = `{"content":[{"type":"text","text":"${'é'.repeat(5_000)}"}],"structuredContent":{"n":1.0,"a":[1.0]}}`;
const resultOf = (text: string): JsonObject =>
  readAnswer([Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${text}}`)], defaultLimits)?.['result'] as JsonObject;

it.each([{}, { kind: 'result' }, { kind: 'result', place: { worker: 'w' } }])(
  'a message %j with a large result that no code has read has the bytes of its server',
  (others) => {
    const result = resultOf(written.replace('"n":1.0,', ''));
    const bytes = encode({ ...others, result });
    expect((result as MayHaveBytes)[wire]?.bytes).toBeDefined();
    expect(JSON.stringify(decode(bytes))).toBe(JSON.stringify({ ...others, result }));
    // Now it is read, and its values are written.
    expect((result as MayHaveBytes)[wire]?.bytes).toBeUndefined();
    expect(Buffer.from(encode({ ...others, result })).equals(bytes)).toBe(true);
  },
);

const frame = { kind: 'message', isAnswer: true, last: true };
const texts = ['', 'short', '"'.repeat(300), 'é\u{1f600}\u{fffd}'.repeat(300), '\u0001\u0002\u0000\n'.repeat(300)];

it.each(texts)('the text of a reply is read as it was: %.12j', (text) => {
  expect(decodeReply(encodeReply({ ...frame, text }))).toEqual({ ...frame, text });
  const parts = [Buffer.from(text), '}'];
  expect(decodeReply(encodeReply(withText({ ...frame }, new JsonBytes(parts))))).toEqual({
    ...frame,
    text: `${text}}`,
  });
});

it('a long text is not escaped, and each other reply is JSON', () => {
  const text = JSON.stringify({ text: '"'.repeat(1_000) });
  const overhead = encode({ ...frame, text: '' }).length;
  expect(encodeReply({ ...frame, text }).length).toBeLessThan(text.length + overhead);
  for (const other of [{ ...frame, text: 'short' }, { kind: 'result', result: { text } }, { text: [text] }, ['x'], 'x'])
    expect(Buffer.from(encodeReply(other)).toString()).toBe(JSON.stringify(other));
});

it.each([
  ['a long text', { text: 'x'.repeat(300), n: 1n }],
  ['a text in bytes', withText({ n: 1n }, new JsonBytes([Buffer.from('{}')]))],
  ['a short text', { text: 'x', n: 1n }],
])('a reply with %s and a member that JSON cannot express is undecodable', (_what, reply) => {
  expect(() => encodeReply(reply)).toThrow(expect.objectContaining({ kind: 'undecodable' }));
});

it.each([
  ['no end of its members', '\u0001{"kind":"message"}'],
  ['no members', '\u0001\u0002text'],
  ['members that are none', '\u0001[]\u0002text'],
  ['members that are no JSON', '\u0001{"kind":\u0002text'],
  ['a text that is not UTF-8', Buffer.from([0x01, 0x7b, 0x7d, 0x02, 0xff])],
])('a reply with %s is undecodable', (_what, bytes) => {
  expect(() => decodeReply(Buffer.from(bytes))).toThrow(expect.objectContaining({ kind: 'undecodable' }));
});
