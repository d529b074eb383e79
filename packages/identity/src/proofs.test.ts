import { randomBytes } from 'node:crypto';
import { anonymous, rootEndpoint, type Caller, type Principal } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { factsWithoutToken, type Facts } from './facts.ts';
import { Proofs } from './proofs.ts';

const secret = randomBytes(32);
const older = randomBytes(32);

const factsOf = (subject: string): Facts =>
  factsWithoutToken({ issuer: 'https://login.example', subject }, { groups: ['staff'] });

const callerOf = (principal: Principal, proof?: string): Caller => ({
  principal,
  endpoint: rootEndpoint,
  ...(proof === undefined ? {} : { proof }),
});
const problemOf = (receiver: Proofs, caller: Caller, mustBeKnown = true): string | undefined =>
  receiver.problemOf(caller, mustBeKnown)?.reason;

it('what one process signs, every process with the same key believes, and facts are signed once', () => {
  const [edge, session] = [new Proofs([secret]), new Proofs([randomBytes(32), secret])];
  const ann = factsOf('ann');
  expect(edge.of(ann)).toBe(edge.of(ann));
  for (let count = 0; count < 2; count += 1)
    expect(problemOf(session, callerOf(ann.principal, edge.of(ann)))).toBeUndefined();
  expect(problemOf(new Proofs([older]), callerOf(ann.principal, edge.of(ann)))).toBe('caller.unproven');
  expect(session.told(edge.of({ ...ann, tools: ['git/get'] }))?.facts.tools).toEqual(['git/get']);
});

it('nobody can say that somebody else asks', () => {
  const proofs = new Proofs([secret]);
  const [ann, bob] = [factsOf('ann'), factsOf('bob')];
  const proof = proofs.of(ann);
  const [body = '', signature = ''] = proof.split('.');
  const forged = Buffer.from(JSON.stringify({ ...bob, until: Date.now() + 1_000 })).toString('base64url');
  expect(problemOf(proofs, callerOf(ann.principal, proof))).toBeUndefined();
  for (const wrong of [
    `${forged}.${signature}`,
    `${body}.`,
    body,
    '',
    '.',
    `${proof}.`,
    `${forged}.${new Proofs([older]).of(bob).split('.')[1] as string}`,
    `${body}A.${signature}`,
  ]) {
    expect(problemOf(proofs, callerOf(ann.principal, wrong)), wrong).toBe('caller.unproven');
    expect(problemOf(proofs, callerOf(bob.principal, wrong)), wrong).toBe('caller.unproven');
  }
  expect(problemOf(proofs, callerOf(bob.principal, proof))).toBe('caller.unproven');
  expect(problemOf(proofs, callerOf(bob.principal))).toBe('caller.unproven');
  expect(problemOf(proofs, callerOf(anonymous, proof))).toBe('caller.unproven');
});

it('nobody is anonymous where callers must be known, and nobody else is where they need not be', () => {
  const proofs = new Proofs([secret]);
  expect(problemOf(proofs, callerOf(anonymous))).toBe('caller.unproven');
  expect(problemOf(proofs, callerOf(anonymous), false)).toBeUndefined();
  expect(problemOf(proofs, callerOf(factsOf('ann').principal), false)).toBe('caller.unproven');
});

it('whoever checks a proof reads the facts in it, the same object each time, and none in what nobody signed', () => {
  const [edge, session] = [new Proofs([secret]), new Proofs([secret])];
  const ann = factsOf('ann');
  const caller = callerOf(ann.principal, edge.of(ann));
  expect(Proofs.factsOf(caller, session)).toEqual(JSON.parse(JSON.stringify(ann)));
  expect(Proofs.factsOf(caller, session)).toBe(Proofs.factsOf(caller, session));
  expect(Proofs.factsOf({ ...caller, proof: `${caller.proof as string}x` }, session)).toBeUndefined();
  expect(Proofs.factsOf(callerOf(anonymous), session)).toBeUndefined();
  expect(Proofs.factsOf({ ...callerOf(ann.principal), facts: ann }, undefined)).toBe(ann);
});

it('what is proven of a caller is known to whoever checks it, as one object, and to nobody who is told it without', () => {
  const [edge, session] = [new Proofs([secret]), new Proofs([secret])];
  const ann = { ...factsOf('ann'), tenant: 'acme' };
  const [first, second] = [0, 1].map(() => Proofs.factsOf(callerOf(ann.principal, edge.of(ann)), session));
  expect(first).toMatchObject({ subject: 'ann', tenant: 'acme', groups: ['staff'] });
  expect(second).toBe(first);
  expect(Proofs.factsOf(callerOf(ann.principal, new Proofs([older]).of(ann)), session)).toBeUndefined();
  expect(Proofs.factsOf(callerOf(anonymous), session)).toBeUndefined();
  // A tenant is part of proven facts, and never of a mere claim.
  expect(problemOf(session, { ...callerOf(anonymous), tenant: 'acme' }, false)).toBe('caller.unproven');
});
