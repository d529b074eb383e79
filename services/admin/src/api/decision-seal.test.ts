import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { isSigned, signDecision } from './decision-seal.ts';

it('a decision counts for half a minute, with a key of this gateway, and as it was signed', () => {
  const [older, newer, strange] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const now = 1_700_000_000_000;
  const text = JSON.stringify({ id: 'c1', approve: true, by: 'ann', at: now });
  const signature = signDecision([newer], text);
  expect(isSigned([newer, older], text, signature, now + 29_000)).toBe(true);
  expect(isSigned([older, newer], text, signature, now)).toBe(true);
  expect(isSigned([newer], text, signature, now + 31_000)).toBe(false);
  expect(isSigned([newer], text.replace('ann', 'eve'), signature, now)).toBe(false);
  for (const other of ['', 'x', signDecision([strange], text)])
    expect(isSigned([newer, older], text, other, now)).toBe(false);
  const undated = JSON.stringify({ id: 'c1', approve: true });
  expect(isSigned([newer], undated, signDecision([newer], undated), now)).toBe(false);
});
