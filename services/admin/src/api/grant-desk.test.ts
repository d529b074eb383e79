import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import type { Facts } from '@omnibus/identity';
import { factsWithoutToken } from '@omnibus/identity/testing';
import { compile, type Policy } from '@omnibus/policy';
import { grantQuestions } from './grant-desk.ts';

const issuer = 'https://login.example.com';
const factsOf = (subject: string): Facts => factsWithoutToken({ issuer, subject }, { groups: ['eng'] });

let bus: MemoryBus;
let policy: Policy | undefined;
let questions: ReturnType<typeof grantQuestions>;

beforeEach(async () => {
  bus = new MemoryBus(({ what }) => expect.fail(what));
  const compiled = await compile({
    default: 'deny',
    rules: [],
    grants: [{ id: 'night', who: 'group:eng', lasts: 3_600_000 }],
  });
  policy = 'policy' in compiled ? compiled.policy : undefined;
  questions = grantQuestions({
    bus: () => bus,
    process: 'here',
    signedWith: () => undefined,
    policy: () => Promise.resolve(policy),
  });
});

afterEach(() => bus.drain());

/** An act of a person, as one process answers it. */
async function acted(subject: string, roles: readonly string[], act: object): Promise<unknown> {
  const said = JSON.stringify({ ...act, by: subject, roles, facts: factsOf(subject) });
  return questions['grant-act']?.({ to: 'here', said });
}

const request = { act: 'request', name: 'night', forMs: 60_000, because: 'incident 4711' };

it('an id without a grant that the person may see is unknown, and not a conflict', async () => {
  expect(await acted('bob', ['approver'], { act: 'end', id: 'none' })).toMatchObject({ kind: 'unknown' });
  expect(await acted('bob', ['approver'], { act: 'decide', id: 'none', approve: true })).toMatchObject({
    kind: 'unknown',
  });
  const { grant } = (await acted('ann', [], request)) as { readonly grant: { readonly id: string } };
  expect(await acted('bob', [], { act: 'end', id: grant.id })).toMatchObject({ kind: 'unknown' });
  expect(await acted('bob', ['approver'], { act: 'end', id: grant.id })).toMatchObject({ grant: { state: 'refused' } });
  expect(await acted('bob', ['approver'], { act: 'end', id: grant.id })).toMatchObject({ kind: 'over' });
});

it('a caller that asks and withdraws without end has a bound, so that its records leave room for those of others', async () => {
  let answer: unknown;
  let requests = 0;
  for (; requests < 1_000; requests += 1) {
    answer = await acted('ann', [], request);
    if (!('grant' in (answer as object))) break;
    const { id } = (answer as { readonly grant: { readonly id: string } }).grant;
    await acted('ann', [], { act: 'end', id });
  }
  expect(requests).toBe(100);
  expect(answer).toMatchObject({ kind: 'over', problem: expect.stringContaining('100 requests in a day') as string });
  expect(await acted('bob', [], request)).toMatchObject({ grant: { state: 'requested' } });
});

it('of requests of one caller at the same time, one is stored', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => acted('cat', [], request)));
  expect(answers.filter((answer) => 'grant' in (answer as object))).toHaveLength(1);
});
