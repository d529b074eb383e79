import { expect, it } from 'vitest';
import { loadConfig } from './load.ts';

const problems = (argument: object): string => {
  const crm = { url: 'http://127.0.0.1:1/mcp', tools: { find: { arguments: { team: argument } } } };
  const text = JSON.stringify({ mcpServers: { crm }, auth: { keys: { file: 'keys.yaml' } } });
  const loaded = loadConfig({ file: 'test', text, env: {}, readFile: () => '' });
  return JSON.stringify('problems' in loaded ? loaded.problems : loaded.faults);
};

it.each<[object, string]>([
  [{ fixed: 1, name: 'squad' }, 'hidden from clients'],
  [{ fixed: { all: ['{principal.subject}'] } }, 'stand in a text alone'],
  [{ default: ['{principal.groups}'] }, 'stand in a text alone'],
])('an argument in the shape %j is a mistake', (argument, problem) => {
  expect(problems(argument)).toContain(problem);
});

it.each([{ fixed: '{principal.subject}' }, { fixed: { all: ['core'] } }, { default: null }])(
  'an argument in the shape %j is right',
  (argument) => expect(problems(argument)).toBe('[]'),
);
