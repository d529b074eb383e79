import { expect, it } from 'vitest';
import { defaultLimits, readAnswer, wire, type JsonObject, type MayHaveBytes } from '@omnibus/protocol';
import { decode, encode } from './codec.ts';

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
