import { expect, it } from 'vitest';
import { parts } from './parts.ts';

it('a process answers for itself before its workers give signs of life, so that no other process calls it missing while it starts', () => {
  const wanted = ['the bus', 'the answers of the admin port', 'the session worker', 'the servers', 'the edge'];
  expect(parts.map(({ name }) => name).filter((name) => wanted.includes(name))).toEqual(wanted);
});
