/** The lists of gates and transforms that features make. */
import { describe, expect, it } from 'vitest';
import type { Gate } from './call/gates.ts';
import type { CallTransformer } from './call/transforms.ts';
import { Features, type FeatureStart, type SessionFeature } from './feature.ts';
import { configOf } from '@omnibus/config/testing';

const gate = (): Gate => ({ takes: () => false });
const transformer = (): CallTransformer => ({ of: () => undefined });
const parts = {} as FeatureStart;

function switchable(isOnAtFirst: boolean): SessionFeature & { turn: (isOn: boolean) => void } {
  let isOn = isOnAtFirst;
  return {
    name: 'switchable',
    get isOn() {
      return isOn;
    },
    turn: (next) => {
      isOn = next;
    },
    gates: [gate()],
    transforms: [transformer()],
  };
}

describe('the features of a worker', () => {
  const config = (): Parameters<Features['apply']>[0] => {
    return configOf('{}');
  };

  it('have gates and transforms in the order of the list, but for those that are off', () => {
    const [first, off, last] = [switchable(true), switchable(false), switchable(true)];
    const features = new Features([first, off, last]);
    expect(features.gates.all).toEqual([first.gates?.[0], last.gates?.[0]]);
    expect(features.transforms.on).toEqual([first.transforms?.[0], last.transforms?.[0]]);
  });

  it('are in the lists if a configuration turns them on, and in none if one turns them off', () => {
    const feature = switchable(false);
    const features = new Features([{ ...feature, isOn: true }, feature]);
    feature.turn(true);
    features.apply(config(), { policy: undefined, guardrails: undefined });
    expect(features.gates.all).toHaveLength(2);
    feature.turn(false);
    features.apply(config(), { policy: undefined, guardrails: undefined });
    expect(features.gates.all).toHaveLength(1);
    expect(features.transforms.on).toHaveLength(1);
  });

  it('are in the lists if they turn on while they start', async () => {
    const feature = switchable(false);
    const features = new Features([Object.assign(feature, { start: () => feature.turn(true) })]);
    await features.start(parts);
    expect(features.gates.all).toHaveLength(1);
  });

  it('let a call go on behind the gate at which it waited, though that is off by then', () => {
    const [first, waiting, last] = [switchable(true), switchable(true), switchable(true)];
    const features = new Features([first, waiting, last]);
    const [at] = waiting.gates ?? [];
    waiting.turn(false);
    features.choose();
    expect(at === undefined ? undefined : features.gates.after(at)).toEqual(last.gates);
    expect(at === undefined ? undefined : features.gates.since(at)).toEqual([at, ...(last.gates ?? [])]);
  });
});
