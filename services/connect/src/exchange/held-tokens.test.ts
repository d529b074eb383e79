/** The tokens that callers have shown to an edge: held while they are good, and no longer. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { factsWithoutToken } from '@omnibus/identity/testing';
import type { WorkloadTokens } from '@omnibus/credentials';
import type { Facts, ServerName, WorkerId } from '@omnibus/protocol';
import { HeldTokens } from './held-tokens.ts';

const edge = 'edge-1' as WorkerId;
let revoked: Set<string>;
let isUsed: boolean;
let held: HeldTokens;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  [revoked, isUsed] = [new Set(), true];
  held = new HeldTokens({
    isUsed: () => isUsed,
    self: () => edge,
    holds: ({ grant }) => grant === undefined || !revoked.has(grant),
  });
});
afterEach(() => void vi.useRealTimers());

/** The facts of a token. */
function factsOf(subject: string, lifeMs = 60_000, grant?: string): Facts {
  const named = { issuer: 'https://login.example.com', subject };
  return { ...factsWithoutToken(named, { groups: [], expiresAt: Date.now() + lifeMs }), grant };
}

it('the facts of a token name the edge that holds it, and are one object for each token', () => {
  const facts = factsOf('ann');
  const named = held.hold(facts, 'token of ann');
  expect(named).toEqual({ ...facts, at: edge });
  expect(held.hold(facts, 'token of ann')).toBe(named);
  expect(held.of(facts.principal)).toMatchObject({ token: 'token of ann', facts: named });
});

it('nothing is held, and no facts are changed, where no server is called so', () => {
  isUsed = false;
  const facts = factsOf('ann');
  expect(held.hold(facts, 'token of ann')).toBe(facts);
  expect(held.of(facts.principal)).toBeUndefined();
});

it('a token is dropped when it expires, together with those that were made from it', () => {
  const facts = factsOf('ann');
  held.hold(facts, 'token of ann');
  held.of(facts.principal)?.made.set('records' as ServerName, {} as WorkloadTokens);
  vi.setSystemTime(Date.now() + 60_000);
  expect(held.of(facts.principal)).toBeUndefined();
});

it('a token is dropped when it is revoked, and the others stay', () => {
  const [ann, ben] = [factsOf('ann', 60_000, 'grant of ann'), factsOf('ben', 60_000, 'grant of ben')];
  held.hold(ann, 'token of ann');
  held.hold(ben, 'token of ben');
  revoked.add('grant of ann');
  held.review();
  revoked.clear();
  expect([held.of(ann.principal), held.of(ben.principal)?.token]).toEqual([undefined, 'token of ben']);
});

it('a newer token takes the place of the one before, and an older one that is still good comes back when the newer has expired', () => {
  const [long, short] = [factsOf('ann'), factsOf('ann', 10_000)];
  held.hold(long, 'long');
  held.of(long.principal)?.made.set('records' as ServerName, {} as WorkloadTokens);
  held.hold(short, 'short');
  expect(held.of(long.principal)).toMatchObject({ token: 'short', made: new Map() });
  vi.setSystemTime(Date.now() + 10_000);
  held.hold(long, 'long');
  expect(held.of(long.principal)?.token).toBe('long');
});

it('of more callers than are held, the first are dropped, and held again with their next request', () => {
  const all = Array.from({ length: 10_001 }, (_, index) => factsOf(`user ${index}`));
  for (const facts of all) held.hold(facts, facts.subject);
  const [first, second] = all as [Facts, Facts];
  expect([held.of(first.principal), held.of(second.principal)?.token]).toEqual([undefined, 'user 1']);
  held.hold(first, first.subject);
  expect([held.of(first.principal)?.token, held.of(second.principal)]).toEqual(['user 0', undefined]);
});
