import { describe, expect, it } from 'vitest';
import { parseJson } from './exact-numbers.ts';
import { classify } from './json-rpc.ts';
import { requestMethods } from './method-table.ts';

describe('what a JSON value is in terms of JSON-RPC', () => {
  it('what has a method that only requests have and no id is no notification', () => {
    for (const method of requestMethods) {
      expect(classify({ jsonrpc: '2.0', id_: 1, method })).toMatchObject({
        kind: 'invalid',
        id: undefined,
        problem: expect.stringContaining('"id"') as string,
        meant: 'question',
      });
    }
    expect(classify({ jsonrpc: '2.0', ID: 1, method: 'tools/list' }).kind).toBe('invalid');
    for (const method of ['notifications/initialized', 'notifications/of/the/future', 'acme/told'])
      expect(classify({ jsonrpc: '2.0', method }).kind).toBe('notification');
  });

  it.each([
    [{ jsonrpc: '2.0', id: 1, method: 'ping', result: {} }, 'answer'],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', error: { code: 1, message: 'no' } }, 'answer'],
    [{ jsonrpc: '2.0', id: 1, method: 'ping', params: [1] }, 'question'],
    [{ jsonrpc: '2.0', id: null, method: 'ping' }, 'question'],
    [{ id: 'u2', method_: 'ping' }, 'either'],
    [{ level: 'info', msg: 'started' }, 'nothing'],
    [7, 'nothing'],
  ])('%j is no message, and was to be: %s', (value, meant) => {
    expect(classify(value)).toMatchObject({ kind: 'invalid', meant });
  });
});

it.each(['1.0', '1e3', '-2.50e1', '12345678901234567890', '9'.repeat(400)])(
  '%s is an integer, and so may be an id',
  (id) => {
    expect(classify(parseJson(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).kind).toBe('request');
  },
);

it.each(['1.5', '1e-3', '1e400'])('%s is no integer, and so no id', (id) => {
  expect(classify(parseJson(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`))).toMatchObject({
    kind: 'invalid',
    problem: '"id" must be a string or an integer',
  });
});
