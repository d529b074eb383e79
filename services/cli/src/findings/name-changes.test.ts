import { loadConfig, type Config } from '@omnibus/config';
import { expect, it } from 'vitest';
import { nameChanges } from './name-changes.ts';

function config(text: string): Config {
  const loaded = loadConfig({ file: 'omnibus.yaml', text, env: {}, readFile: () => '' });
  if ('problems' in loaded) throw new Error(loaded.problems[0]?.message);
  return loaded.config;
}

const one = config('mcpServers: { memory: { command: a } }');
const two = config('mcpServers: { memory: { command: a }, files: { command: b } }');

it('a second server puts names before those of the first, and its removal takes them away again', () => {
  expect(nameChanges(one, two)).toContain('a tool "x" of memory is "memory__x" now');
  expect(nameChanges(two, one)).toContain('a tool "memory__x" is "x" now');
});

it('names that stay as they are are not mentioned', () => {
  const disabled = config('mcpServers: { memory: { command: a }, files: { command: b, disabled: true } }');
  const always = config('prefix: always\nmcpServers: { memory: { command: a } }');
  const both = config('prefix: always\nmcpServers: { memory: { command: a }, files: { command: b } }');
  const empty = config('mcpServers: {}');
  for (const [before, after] of [
    [one, disabled],
    [always, both],
    [empty, one],
    [empty, two],
    [two, two],
  ] as const)
    expect(nameChanges(before, after)).toBeUndefined();
});
