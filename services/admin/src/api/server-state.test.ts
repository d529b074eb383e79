/** The state of a server as the page shows it. */
import { expect, it } from 'vitest';
import { stateOf } from './server-state.ts';

it('a server that fails is down during each attempt to connect again, so counts of such servers do not flicker', () => {
  const refused = 'connection refused';
  const states = (['connecting', 'backoff', 'idle', 'connecting', 'backoff'] as const).map((state) =>
    stateOf(state, 'down', refused),
  );
  expect(new Set(states)).toEqual(new Set(['down']));
});

it('a server connects until its first attempt has ended, and is up when it offers lists', () => {
  expect(stateOf('connecting', 'down', undefined)).toBe('connecting');
  expect(stateOf('connecting', 'down', 'it is still connecting')).toBe('connecting');
  expect(stateOf('ready', 'up', undefined)).toBe('up');
  expect(stateOf('ready', 'down', 'its tools cannot be read')).toBe('down');
  expect(stateOf('asleep', 'up', undefined)).toBe('asleep');
});
