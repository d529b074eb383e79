import { assert, constantFrom, jsonValue, property, record, string, array, nat, oneof, constant } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '../json-rpc.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { readJson } from '../read-json.ts';
import { unread, wire, type MayBeUnread, type MayHaveBytes } from './marks.ts';
import { readAnswer } from './read-answer.ts';

const long = 'x'.repeat(5_000);
const answerWith = (result: string): string => `{"jsonrpc":"2.0","id":7,"result":${result}}`;
const read = (
  text: string | Buffer,
  limits: Pick<Limits, 'maxJsonDepth' | 'maxJsonValues'> = defaultLimits,
): JsonObject | undefined => readAnswer([typeof text === 'string' ? Buffer.from(text) : text], limits);
const resultIn = (text: string): JsonObject & MayHaveBytes => read(text)?.['result'] as JsonObject;
const bytesOf = (result: JsonObject): string | undefined => (result as MayHaveBytes)[wire]?.bytes?.toString();

/** A plain result with further members. */
const plain = (more = ''): string => `{"content":[{"type":"text","text":"${long}"}]${more}}`;

describe('a large answer', () => {
  it('keeps its bytes until code reads a large member', () => {
    const result = resultIn(answerWith(plain(', "isError" : false')));
    expect([result['isError'], Object.keys(result), 'task' in result]).toEqual([false, ['content', 'isError'], false]);
    const [block] = result['content'] as [JsonObject];
    expect(block['type']).toBe('text');
    expect((block as MayBeUnread)[unread]?.get('text')?.kind).toBe('string');
    expect(bytesOf(result)).toBe(plain(', "isError" : false'));
    expect(block['text']).toBe(long);
    expect(bytesOf(result)).toBeUndefined();
  });

  it('is the same in whatever pieces it comes, and keeps nothing of the memory in which it was joined', () => {
    const written = answerWith(plain(`,"structuredContent":{"a":${JSON.stringify(['é', 1, null])}},"_meta":{"b":"é"}`));
    const bytes = Buffer.from(written);
    const whole = (JSON.parse(written) as JsonObject)['result'];
    for (const cuts of [
      [1],
      [40],
      [5_060, 5_100],
      [60, 61, 62, bytes.length - 1],
      Array.from({ length: 300 }, (_, index) => index + 1),
    ]) {
      const ends = [...cuts, bytes.length];
      const pieces = ends.map((end, index) => Buffer.from(bytes.subarray(ends[index - 1] ?? 0, end)));
      const readPieces = (): JsonObject & MayHaveBytes =>
        readAnswer(pieces, defaultLimits)?.['result'] as JsonObject & MayHaveBytes;
      const result = readPieces();
      const other = readPieces();
      const changed = other[wire]?.with(other, { resultType: 'complete' }, { _meta: 1 }) as JsonObject;
      // Another message is joined in the same memory.
      readAnswer([Buffer.from('{'), Buffer.alloc(bytes.length, ' ')], defaultLimits);
      expect(answerWith(bytesOf(result) as string)).toBe(written);
      expect(JSON.parse(bytesOf(changed) as string)).toEqual({
        resultType: 'complete',
        ...(whole as JsonObject),
        _meta: 1,
      });
      expect(JSON.parse(JSON.stringify(result))).toEqual(whole);
    }
  });

  it.each([0, 1, 2, 3])('is read wherever its strings begin and end in memory, %d bytes from a word', (offset) => {
    const texts = Array.from({ length: 200 }, (_none, index) => 'x'.repeat(index));
    const written = answerWith(plain(`,"structuredContent":${JSON.stringify(texts.map((text) => ({ text })))}`));
    const whole = Buffer.alloc(Buffer.byteLength(written) + offset);
    whole.write(written, offset);
    const result = read(whole.subarray(offset))?.['result'] as JsonObject;
    expect(JSON.parse(JSON.stringify(result))).toEqual((JSON.parse(written) as JsonObject)['result']);
  });

  it('has no bytes any more once it was copied, written or compared', () => {
    for (const look of [
      (result: JsonObject) => ({
        ...result,
        content: (result['content'] as JsonObject[]).map((block) => ({ ...block })),
      }),
      (result: JsonObject) => JSON.stringify(result),
      (result: JsonObject) => structuredClone(result),
    ]) {
      const result = resultIn(answerWith(plain()));
      const made = look(result);
      expect(typeof made === 'string' ? JSON.parse(made) : made).toEqual(JSON.parse(plain()));
      expect(bytesOf(result)).toBeUndefined();
    }
    expect({ ...resultIn(answerWith(plain())) }).not.toHaveProperty([wire as unknown as string]);
  });

  it('takes members without reading the others, which are read later nevertheless', () => {
    const result = resultIn(answerWith(plain(',"_meta":{"a":1},"resultType":"complete"')));
    const given = [
      { resultType: 'other', ttlMs: 0 },
      { _meta: { b: 'é' }, newer: 1 },
    ] as const;
    const made = result[wire]?.with(result, ...given) as JsonObject;
    const copied = resultIn(answerWith(plain(',"_meta":{"a":1},"resultType":"complete"')));
    const expected = { ...given[0], ...copied, ...given[1] };
    expect(bytesOf(made)).toBe(JSON.stringify(expected));
    expect(made).toEqual(expected);
    expect(bytesOf(made)).toBeUndefined();
  });

  it.each(['toString', 'constructor', 'hasOwnProperty'])('keeps the member %s when it gets others', (name) => {
    const written = plain(`,"${name}":1`);
    const result = resultIn(answerWith(written));
    const made = result[wire]?.with(result, { resultType: 'complete' }, { _meta: {} }) as JsonObject;
    const expected = { resultType: 'complete', ...(JSON.parse(written) as JsonObject), _meta: {} };
    expect(JSON.parse(bytesOf(made) as string)).toEqual(expected);
    expect(JSON.parse(JSON.stringify(made))).toEqual(expected);
  });

  it.each([
    ['is an error', `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"${long}"}}`],
    ['is a request', `{"jsonrpc":"2.0","id":7,"method":"ping","result":${plain()}}`],
    ['is a batch', `[${answerWith(plain())}]`],
    ['has a text as its id', answerWith(plain()).replace('7', '"7"')],
    ['has an id that a double cannot hold', answerWith(plain()).replace('7', '9007199254740993')],
    ['has two equal members', answerWith(plain(',"isError":true,"isError":false'))],
    ['has two equal members in a block', answerWith(`{"content":[{"type":"text","type":"x","text":"${long}"}]}`)],
    ['has two results', `{"jsonrpc":"2.0","result":{},"id":7,"result":${plain()}}`],
    ['hides a name behind an escape', answerWith(plain(',"is\\u0045rror":true'))],
    ['names a prototype', answerWith(plain(',"__proto__":{}'))],
    ['has a number of its own form', answerWith(plain(',"ttlMs":1.0'))],
    ['has a line break between values', answerWith(`{"content":\n[{"type":"text","text":"${long}"}]}`)],
    ['has more after it', `${answerWith(plain())} x`],
    ['has a control character in a text', answerWith(plain().replace('xx', 'x\u0001'))],
    ['has a bad escape', answerWith(plain().replace('xx', '\\x'))],
    ['ends too early', answerWith(plain()).slice(0, -1)],
    [
      'is no UTF-8',
      Buffer.concat([
        Buffer.from(answerWith(plain()).slice(0, 100)),
        Buffer.from([0xff]),
        Buffer.from(answerWith(plain()).slice(100)),
      ]),
    ],
  ])('is read as a value if it %s', (_what, text) => {
    expect(read(text)).toBeUndefined();
  });

  it.each([['0'], ['-0'], ['1.0'], ['1e400'], ['9007199254740993'], ['0.1e-7']])(
    'keeps the number %s as it is written, in the bytes and for a reader',
    (number) => {
      const written = `{"content":[],"structuredContent":{"rows":[{"n":${number}},"${long}"]}}`;
      const result = resultIn(answerWith(written));
      expect(bytesOf(result)).toBe(written);
      const value = readJson(answerWith(written), 1e9, defaultLimits) as { readonly value: JsonObject };
      expect(JSON.stringify(result)).toBe(JSON.stringify(value.value['result']));
    },
  );

  it('has texts of every length at every place', () => {
    for (let place = 0; place < 4; place += 1)
      for (let length = 40; length < 70; length += 1) {
        const written = `{"${'n'.repeat(place + 1)}":"${'x'.repeat(length)}"}`;
        expect(bytesOf(resultIn(answerWith(written)))).toBe(written);
        expect(read(answerWith(written.replace('x"', '\u0001"')))).toBeUndefined();
      }
  });

  it('is bounded in depth and number of values', () => {
    const deep = `{"content":[],"structuredContent":{"a":${'['.repeat(50)}"${long}"${']'.repeat(50)}}}`;
    expect(read(answerWith(deep))).toBeDefined();
    expect(read(answerWith(deep), { ...defaultLimits, maxJsonDepth: 40 })).toBeUndefined();
    const many = `{"content":[],"structuredContent":{"a":[${'1,'.repeat(5_000)}1]}}`;
    expect(read(answerWith(many))).toBeDefined();
    expect(read(answerWith(many), { ...defaultLimits, maxJsonValues: 4_000 })).toBeUndefined();
  });

  it('is taken as bytes by its first blocks, and its members are read from all of it', () => {
    const blocks = `[${Array.from({ length: 200 }, (_, index) => `{"type":"text","text":"${index}${'x'.repeat(30)}"}`).join(',')}]`;
    const result = resultIn(answerWith(`{"content":${blocks}}`));
    expect(bytesOf(result)).toBe(`{"content":${blocks}}`);
    expect(result['content']).toEqual(JSON.parse(blocks));
    expect(bytesOf(result)).toBeUndefined();
  });
});

describe('both roads', () => {
  const text = oneof(string(), string({ unit: 'binary' }), constant(long), constant('é"\\\n\u2028'.repeat(200)));
  const block = record(
    {
      type: constantFrom('text', 'image', 'resource', 'x'),
      text,
      data: text,
      resource: record({ uri: string(), text }),
      more: jsonValue(),
    },
    { requiredKeys: ['type'] },
  );
  const result = record(
    {
      content: array(block, { maxLength: 70 }),
      structuredContent: jsonValue(),
      isError: constantFrom(true, false),
      _meta: jsonValue(),
      a: text,
      filler: constant(long),
    },
    { requiredKeys: ['content', 'filler'] },
  );

  it('read the same values, and the bytes are the same JSON', () => {
    let taken = 0;
    assert(
      property(result, nat(3), (made, spaces) => {
        // Blanks without line breaks, as other libraries write them.
        const written = JSON.stringify(made, (_name, value: unknown) => value).replaceAll(
          '":[',
          `":${' '.repeat(spaces)}[`,
        );
        const given = answerWith(written);
        const value = readJson(given, 1e9, defaultLimits);
        const answer = read(given);
        if (value.kind === 'refused' || answer === undefined) return;
        taken += 1;
        const found = answer['result'] as JsonObject;
        expect(bytesOf(found)).toBe(written);
        expect(JSON.stringify(answer)).toBe(JSON.stringify(value.value));
      }),
    );
    expect(taken).toBeGreaterThan(10);
  });

  it('accept no message with mistakes that readJson refuses', () => {
    const base = Buffer.from(
      answerWith(
        `{"content":[{"type":"text","text":"é\\n\\u00e9${'x'.repeat(300)}","n":null},{"a":[1,-2.5e3,true,{}]}],"filler":"${long}","structuredContent":{"a":[0.5,false]}}`,
      ),
    );
    const places = nat(base.length - 1).map((at) => (at < 420 ? at : base.length - 1 - (at % 60)));
    const mistakes = array(
      record({ at: places, byte: constantFrom(...Buffer.from('{}[],:"\\0159.eE+-tfnul \t\n\u0001xé')), how: nat(2) }),
      { minLength: 1, maxLength: 3 },
    );
    let refused = 0;
    assert(
      property(mistakes, (made) => {
        let bytes = base;
        for (const { at, byte, how } of made) {
          const put = how === 2 ? [] : [byte];
          bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(how === 1 ? at : at + 1)]);
        }
        const value = readJson(bytes, 1e9, defaultLimits);
        const answer = read(bytes);
        if (value.kind === 'refused') refused += 1;
        if (answer === undefined) return;
        expect(value.kind).toBe('json');
        if (value.kind === 'json' && isObject(value.value))
          expect(JSON.stringify(answer)).toBe(JSON.stringify(value.value));
      }),
      { numRuns: 2_000 },
    );
    expect(refused).toBeGreaterThan(200);
  });
});
