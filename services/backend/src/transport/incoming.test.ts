import { defaultLimits, RepairCounts } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { readIncoming } from './incoming.ts';

const deep = '['.repeat(200_000);
/** The id that is found in a text which is too deep or broken. */
const answeredBy = (text: string): unknown => {
  const incoming = readIncoming(text, defaultLimits);
  return 'id' in incoming ? incoming.id : 'it was read';
};

const reason = 'message.not_json';

describe('the gate for what servers say', () => {
  it.each([
    [`{"jsonrpc":"2.0","id":7,"result":${deep}}`, 7],
    [`{"result":{"a":"}\\"]"},"x":${'[{'.repeat(100)}${'}]'.repeat(100)}, "id" : "seven"}`, 'seven'],
    ['{"jsonrpc":"2.0","id":7,"result":{', 7],
    [`{"jsonrpc":"2.0","method":"notifications/message","params":${deep}}`, null],
    [`{"method":"sampling/createMessage","id":1,"params":${deep}}`, null],
    ['{"id":null', undefined],
    ['{"id":[1]', undefined],
    ['[{"id":1}', undefined],
    ['{"id":7.5', undefined],
    ['no JSON', undefined],
    ['', undefined],
    ['{', undefined],
    ['{"a', undefined],
  ])('finds whom a message that cannot be read was to answer: %.40s', (text, id) => {
    expect(answeredBy(text)).toBe(id);
  });

  it('reads the text of an id as the number that the gateway gave to its request, unless nothing is repaired', () => {
    const text = '{"jsonrpc":"2.0","id":"7","result":{';
    expect(readIncoming(text, { ...defaultLimits, repairs: new RepairCounts() })).toMatchObject({ id: 7 });
    expect(readIncoming(text, defaultLimits)).toMatchObject({ id: '7' });
  });

  it.each([
    ['{"jsonrpc":"2.0","id":"u2","method":"ping","params":{', { id: 'u2', reason }],
    ['{"method":"roots/list","id":3,"params":[}', { id: 3, reason }],
    ['{"method":"ping","params":nope', { id: undefined, reason }],
    ['{"jsonrpc":"2.0","id":7,"result":{', undefined],
    ['Server listening on port 80', undefined],
  ])('tells a request that cannot be read from an answer and from what is no message: %s', (text, question) => {
    const incoming = readIncoming(text, defaultLimits);
    expect('problem' in incoming && incoming.question).toEqual(question);
  });

  it('refuses what is too large, too deep, too numerous or not UTF-8, and names no words of the server but one character', () => {
    const limits = { ...defaultLimits, maxUpstreamMessageBytes: 1_000, maxBatchLength: 2 };
    expect(readIncoming('[{},{},{}]', limits)).toEqual({
      problem: 'it sent 3 messages at once; 2 are allowed',
      id: undefined,
    });
    for (const bad of [`"${'x'.repeat(1_000)}"`, deep.slice(0, 900), Buffer.from([0x22, 0xff, 0x22]), 'hunter2']) {
      const incoming = readIncoming(bad, limits);
      expect('problem' in incoming && incoming.problem).toMatch(/^what it sent cannot be read/);
      expect(JSON.stringify(incoming)).not.toContain('hunter2');
    }
  });
});
