import { expect, it } from 'vitest';
import { OpeningRate } from './opening-rate.ts';

it('a burst is let in at once, then as many as there is time for; another address is not held up', () => {
  const clock = { now: 0 };
  const rate = new OpeningRate({ burst: 500, perSecond: 2, now: () => clock.now });
  for (let count = 0; count < 500; count += 1) expect(rate.take('a')).toBeUndefined();
  expect(rate.take('a')).toBe(1);
  expect(rate.take('b')).toBeUndefined();
  clock.now += 500;
  expect(rate.take('a')).toBeUndefined();
  expect(rate.take('a')).toBe(1);
  clock.now += 3_600_000;
  for (let count = 0; count < 500; count += 1) expect(rate.take('a')).toBeUndefined();
  expect(rate.take('a')).toBe(1);
});

it('one that ends its sessions may open others', () => {
  const rate = new OpeningRate({ burst: 1, perSecond: 0.001, now: () => 0 });
  for (let count = 0; count < 100; count += 1) {
    expect(rate.take('a')).toBeUndefined();
    expect(rate.take('a')).toBe(1_000);
    rate.giveBack('a');
  }
});

it('ending sessions saves up nothing', () => {
  const rate = new OpeningRate({ burst: 2, perSecond: 1, now: () => 0 });
  rate.take('a');
  for (let count = 0; count < 10; count += 1) rate.giveBack('a');
  expect([rate.take('a'), rate.take('a'), rate.take('a')]).toEqual([undefined, undefined, 1]);
});

it('an address is remembered while a crowd of others comes after it', () => {
  const clock = { now: 0 };
  const rate = new OpeningRate({ burst: 1, perSecond: 0.001, now: () => clock.now });
  for (let count = 0; count < 10_000; count += 1) rate.take(`address-${count}`);
  expect(rate.take('address-0')).toBeGreaterThan(0);
});
