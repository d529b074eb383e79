import { configOf } from '@omnibus/config/testing';
import { expect, it } from 'vitest';
import { nameChanges } from './name-changes.ts';

const one = configOf('mcpServers: { memory: { command: a } }');
const two = configOf('mcpServers: { memory: { command: a }, files: { command: b } }');

it('a second server puts names before those of the first, and its removal takes them away again', () => {
  expect(nameChanges(one, two)).toContain('a tool "x" of memory is "memory__x" now');
  expect(nameChanges(two, one)).toContain('a tool "memory__x" is "x" now');
});

it('names that stay as they are are not mentioned', () => {
  const disabled = configOf('mcpServers: { memory: { command: a }, files: { command: b, disabled: true } }');
  const always = configOf('prefix: always\nmcpServers: { memory: { command: a } }');
  const both = configOf('prefix: always\nmcpServers: { memory: { command: a }, files: { command: b } }');
  const empty = configOf('mcpServers: {}');
  for (const [before, after] of [
    [one, disabled],
    [always, both],
    [empty, one],
    [empty, two],
    [two, two],
  ] as const)
    expect(nameChanges(before, after)).toBeUndefined();
});
