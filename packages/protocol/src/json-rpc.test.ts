import { describe, expect, it } from 'vitest';
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
