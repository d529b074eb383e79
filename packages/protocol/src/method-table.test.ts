import { describe, expect, it } from 'vitest';
import {
  clientMethods,
  inputCapabilities,
  isInputMethod,
  methodRow,
  modernMethods,
  repeatableMethods,
  requestMethods,
  roundMethods,
} from './method-table.ts';
import { listMethods } from './methods.ts';
import { namedBy } from './modern.ts';

const sorted = (methods: Iterable<string>): string[] => [...methods].toSorted((one, other) => one.localeCompare(other));

describe('the table of methods', () => {
  it('has those of 2026-07-28 and of the extensions that are carried', () => {
    expect(sorted(modernMethods)).toEqual(
      sorted([
        'server/discover',
        'tools/list',
        'tools/call',
        'prompts/list',
        'prompts/get',
        'resources/list',
        'resources/templates/list',
        'resources/read',
        'completion/complete',
        'subscriptions/listen',
        'tasks/get',
        'tasks/update',
        'tasks/cancel',
        'skills/list',
        'skills/get',
        'resources/directory/read',
      ]),
    );
  });

  it('has all lists', () => {
    for (const method of Object.values(listMethods))
      expect(methodRow(method)).toMatchObject({ by: 'client', isRepeatable: true });
  });

  it('calls nothing repeatable that may do something', () => {
    expect(sorted([...clientMethods].filter((method) => !repeatableMethods.has(method)))).toEqual([
      'initialize',
      'tasks/cancel',
      'tasks/update',
      'tools/call',
    ]);
  });

  it('knows what servers ask, and which capability that needs', () => {
    expect(sorted([...requestMethods].filter((method) => !clientMethods.has(method)))).toEqual([
      'elicitation/create',
      'roots/list',
      'sampling/createMessage',
    ]);
    expect(inputCapabilities).toEqual({
      'sampling/createMessage': 'sampling',
      'elicitation/create': 'elicitation',
      'roots/list': 'roots',
    });
    expect(['roots/list', 'tools/list', 'constructor', 7].map(isInputMethod)).toEqual([true, false, false, false]);
  });

  it('knows what a header repeats, and of which requests a client can be asked something', () => {
    expect(namedBy('tools/call', { name: 'a' })).toBe('a');
    expect(namedBy('resources/read', { uri: 'b' })).toBe('b');
    expect(namedBy('tasks/update', { taskId: 'c' })).toBe('c');
    for (const method of ['resources/subscribe', 'skills/get', 'tools/list', 'acme/own'])
      expect(namedBy(method, { name: 'a', uri: 'b', taskId: 'c' })).toBeUndefined();
    expect(sorted(roundMethods)).toEqual(['prompts/get', 'resources/read', 'tools/call']);
  });
});
