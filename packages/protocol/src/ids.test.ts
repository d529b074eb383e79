import { expect, it } from 'vitest';
import { parseJson } from './exact-numbers.ts';
import { exchangeOf, idSequence, isToken, newWorkerId, requestOf, requestStream } from './ids.ts';
import type { JsonRpcId } from './json-rpc.ts';
import type { StreamId } from './ids.ts';

const nextId = idSequence<StreamId>(newWorkerId('edge'));

it.each([0, 1, -7, 'a', '', '1', 'ü"\\'])('the id of a stream names the request %j, with its type', (request) => {
  const stream = requestStream(nextId(), request);
  expect(stream).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expect(requestOf(stream)).toBe(request);
});

it('a request whose id is long is not named, and a stream that names none is not taken for one that does', () => {
  const plain = nextId();
  expect(requestStream(plain, 'x'.repeat(100))).toBe(plain);
  expect(requestOf(plain)).toBeUndefined();
  // The last part of an id without a request may have the form of an encoded request.
  for (const id of ['edge-abc-r31', 'edge-abc-31', 'edge-R31-r31', 'edge-abc-R3', 'edge-abc-R7b'])
    expect(requestOf(id as StreamId)).toBeUndefined();
});

it('the id of an exchange is a token that follows from the request, whatever its id and however long its stream', () => {
  const raw = (parseJson('[9007199254740993]') as [JsonRpcId])[0];
  const ids = [1, -1, '1', 'n1', '../../etc/passwd', 'x'.repeat(500), raw, '9007199254740993', 'ä'];
  for (const stream of [nextId(), requestStream(nextId(), '1'), 'edge-'.padEnd(64, 'x') as StreamId]) {
    const made = ids.map((id) => exchangeOf(stream, id));
    expect(made.every(isToken)).toBe(true);
    expect(new Set(made).size).toBe(ids.length);
    expect(ids.map((id) => exchangeOf(stream, id))).toEqual(made);
  }
});
