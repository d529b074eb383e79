import { expect, it } from 'vitest';
import { idSequence, newWorkerId, requestOf, requestStream } from './ids.ts';
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
