import { expect, it } from 'vitest';
import { slotOf } from './placement.ts';
import { parseWorkers } from './number-of-workers.ts';

const servers = Array.from({ length: 200 }, (_, number) => `server-${number}`);

it('each server belongs to one slot, and each slot has some of them', () => {
  const slots = servers.map((server) => slotOf(server, 4));
  for (let slot = 0; slot < 4; slot += 1) expect(slots.filter((each) => each === slot).length).toBeGreaterThan(20);
  expect(servers.map((server) => slotOf(server, 1))).toEqual(servers.map(() => 0));
});

it('another slot takes servers from the others, and moves none between these', () => {
  for (const server of servers) expect([slotOf(server, 3), 3]).toContain(slotOf(server, 4));
});

it.each(['0', '257', '-1', '1.5', 'many', ''])('--workers %j is refused', (given) => {
  expect(() => parseWorkers(given)).toThrow(/a number from 1 to 256, or "auto"/);
});

it('--workers auto is at least one', () => {
  expect(parseWorkers('auto')).toBeGreaterThan(0);
  expect(parseWorkers('3')).toBe(3);
});
