import { expect, it } from 'vitest';
import { parseJson, type JsonObject } from '@omnibus/protocol';
import { mapped } from './mapping.ts';

const from = {
  args: { repo: 'bus', labels: ['a', 'b'], n: 0 },
  steps: {
    exact: parseJson('{"id":12345678901234567890}'),
    find: { items: [{ id: 7, title: 'Late' }], none: null },
    text: 'plain',
  } as JsonObject,
};

it.each([
  ['{args.repo}', 'bus'],
  ['{args.labels}', ['a', 'b']],
  ['{args.labels.1}', 'b'],
  ['{args.absent}', undefined],
  ['{steps.find.items.0.id}', 7],
  ['{steps.find.none}', null],
  ['{steps.text}', 'plain'],
  ['#{steps.find.items.0.id}: {steps.find.items.0.title} in {args.repo} ({args.n})', '#7: Late in bus (0)'],
  [
    { a: ['{args.repo}', '{args.absent}', 1], b: '{args.absent}', c: { d: '{args.n}' } },
    { a: ['bus', 1], c: { d: 0 } },
  ],
  ['#{steps.exact.id}', '#12345678901234567890'],
  ['{other.x} {args}', '{other.x} {args}'],
])('%j becomes the value that it names', (template, value) => {
  expect(mapped(template, from)).toEqual(value);
});

it.each([
  ['{steps.find.items.1.id}', 'the result of the step "find" has no part {steps.find.items.1.id}'],
  ['{steps.find.items.length}', 'has no part'],
  ['{steps.find.constructor}', 'has no part'],
  ['{steps.text.0}', 'has no part'],
  ['x {args.absent}', '{args.absent} has no value'],
  ['x {args.labels}', 'is no text, number or truth value'],
])('%s is an error that names the reference', (template, problem) => {
  expect(() => mapped(template, from)).toThrow(problem);
});
