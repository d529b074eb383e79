import { expect, it } from 'vitest';
import { calledName } from './called-name.ts';

it.each([
  ['the name of a tool', { name: 'read', arguments: { name: 'x' } }, 'read'],
  [
    'the name of the tool that `call_tool` calls',
    { name: 'call_tool', arguments: { name: 'files__read' } },
    'files__read',
  ],
  ['`call_tool` where that names no tool', { name: 'call_tool', arguments: { name: 1 } }, 'call_tool'],
  ['nothing where a request has no name', { uri: 'x' }, undefined],
  ['nothing without parameters', undefined, undefined],
])('a request is reported with %s', (_what, params, name) => {
  expect(calledName(params)).toBe(name);
});
