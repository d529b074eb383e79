import { expect, it } from 'vitest';
import { newWorkerId, type WorkerId } from '@omnibus/protocol';
import { nearestWorker } from './choose-worker.ts';

const [own, near, far] = [newWorkerId('session'), newWorkerId('session'), newWorkerId('session')];
const [all, region] = [
  [own, near, far],
  [own, near],
];

it.each<[string, WorkerId | undefined, readonly WorkerId[], WorkerId | undefined]>([
  ['the worker of this process, though others are there', own, [], own],
  ['one of this region if that one has refused', own, [own], near],
  ['any other one if both have', own, [own, near], far],
  ['none if all have', own, all, undefined],
  ['one of this region where the process has none', undefined, [own], near],
])('chooses %s', (_what, here, except, chosen) => {
  expect(nearestWorker({ here: () => here, near: region, alive: all }, new Set(except))).toBe(chosen);
});
