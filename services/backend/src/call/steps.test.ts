/** The lists of steps that calls pass. */
import { expect, it } from 'vitest';
import { byMethod, stepsWith, type CallStep } from './steps.ts';

it('a list has the steps with that hook, in order, and a method that every object has belongs to no step', () => {
  const take = (): void => undefined;
  const [first, second]: CallStep[] = [
    { before: () => undefined, takes: { 'logging/setLevel': take } },
    { before: () => 'held', holds: () => true },
  ];
  const steps = [first, second] as CallStep[];
  expect(stepsWith(steps, 'before')).toEqual(steps);
  expect(stepsWith(steps, 'holds')).toEqual([second]);
  const takes = byMethod(steps, 'takes') as Readonly<Record<string, unknown>>;
  expect([takes['logging/setLevel'], takes['constructor'], takes['toString']]).toEqual([take, undefined, undefined]);
});
