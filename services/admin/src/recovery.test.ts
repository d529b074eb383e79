import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { Recovery, recoveryProof } from './recovery.ts';

const key = randomBytes(32);
let now = 0;
const clock = (): number => now;

it('whoever has the sealing key, the one from before among them, is let in by a proof of this moment, once', () => {
  const before = randomBytes(32);
  const recovery = new Recovery([key, before], clock);
  for (const each of [key, before]) {
    const question = recovery.question();
    const given = recovery.answer(question, recoveryProof(each, question));
    expect(recovery.holds(`Bearer ${given?.token ?? ''}`)).toBe(true);
    expect(recovery.answer(question, recoveryProof(each, question))).toBeUndefined();
  }
});

it('no other key, question of somebody else, question that was changed, or late answer lets anybody in', () => {
  const [recovery, other] = [new Recovery([key], clock), new Recovery([key], clock)];
  const question = recovery.question();
  expect(recovery.answer(question, recoveryProof(randomBytes(32), question))).toBeUndefined();
  const theirs = other.question();
  expect(recovery.answer(theirs, recoveryProof(key, theirs))).toBeUndefined();
  const changed = question.replace(/^\d+/, String(Number.MAX_SAFE_INTEGER));
  expect(recovery.answer(changed, recoveryProof(key, changed))).toBeUndefined();
  for (const junk of ['', '.', '..', 'x']) expect(recovery.answer(junk, recoveryProof(key, junk))).toBeUndefined();
  now += 60_000;
  expect(recovery.answer(question, recoveryProof(key, question))).toBeUndefined();
});

it('a token is good for a quarter of an hour, and nothing else is one', () => {
  const recovery = new Recovery([key], clock);
  const question = recovery.question();
  const token = recovery.answer(question, recoveryProof(key, question))?.token ?? '';
  now += 15 * 60_000 - 1;
  expect([
    recovery.holds(`bearer ${token}`),
    recovery.holds(undefined),
    recovery.holds('Bearer '),
    recovery.holds(`Bearer ${token}x`),
  ]).toEqual([true, false, false, false]);
  now += 1;
  expect(recovery.holds(`Bearer ${token}`)).toBe(false);
});
