import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';

const { proseProblems } = (await import(pathToFileURL(join(root, 'scripts/prose.mjs')).href)) as {
  readonly proseProblems: (text: string) => readonly string[];
};

/** Problems without the advice. */
const problemsOf = (text: string): readonly string[] =>
  proseProblems(text).map((problem) => /^\d+: "[^"]+"/.exec(problem)?.[0] ?? problem);

it('a form that hides the actor is reported with its line', () => {
  expect(problemsOf('# Page\n\nWhoever calls is told.\n')).toEqual(['3: "Whoever"', '3: "is told"']);
});

it('a form that is good now and then is reported in a document that has many', () => {
  const sentence = 'It shows what is new.\n';
  expect(problemsOf(sentence)).toEqual([]);
  expect(problemsOf(sentence.repeat(2))).toHaveLength(2);
});

it('code and addresses are not prose', () => {
  expect(problemsOf('Write `who: nobody` ([page](nobody.md)).\n\n```yaml\nwho: somebody\n```\n')).toEqual([]);
});
