import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConversationBoard, MemoryBus, type ConversationOf } from '@omnibus/bus';
import { principalOf, type Facts } from '@omnibus/identity';
import { factsWithoutToken } from '@omnibus/identity/testing';
import { compile, type Policy } from '@omnibus/policy';
import type { ConversationLabel, ServerName } from '@omnibus/protocol';
import { labelQuestions, type LabelPerson, type SentConversation } from './label-desk.ts';

const issuer = 'https://login.example.com';
const factsOf = (subject: string, tenant?: string): Facts =>
  factsWithoutToken({ issuer, subject }, { tenant, groups: [] });
const untrusted: ConversationLabel = {
  label: 'untrusted',
  server: 'web' as ServerName,
  item: 'fetch',
  rule: 'flow:untrusted',
  at: 1,
};
const of = (id: string, subject: string, tenant?: string): ConversationOf => ({
  id,
  kind: 'session',
  principal: principalOf({ issuer, subject }),
  who: [`${issuer}|${subject}`],
  endpoint: '',
  client: `client of ${subject}`,
  session: `session ${id}`,
  ...(tenant === undefined ? {} : { tenant }),
});

let bus: MemoryBus;
let board: ConversationBoard;
let policy: Policy | undefined;

beforeEach(async () => {
  bus = new MemoryBus(({ what }) => expect.fail(what));
  board = await ConversationBoard.open(bus);
  const compiled = await compile({
    default: 'allow',
    rules: [{ id: 'r', who: 'everyone', label: 'web', as: 'untrusted' }],
  });
  policy = 'policy' in compiled ? compiled.policy : undefined;
  for (const [id, subject, tenant] of [
    ['s1', 'ann', 'acme'],
    ['s2', 'bob', 'beta'],
    ['s3', 'cyd', undefined],
  ] as const)
    await board.add(of(id, subject, tenant), [{ ...untrusted, at: Number(id.slice(1)) }], 60_000);
});

afterEach(() => bus.drain());

const questions = () =>
  labelQuestions({
    bus: () => bus,
    process: 'here',
    signedWith: () => undefined,
    policy: () => Promise.resolve(policy),
  });

async function seen(by: LabelPerson, filter: object = {}): Promise<readonly string[]> {
  const { conversations } = (await questions()['labels']?.({ of: by, ...filter })) as {
    readonly conversations: readonly SentConversation[];
  };
  return conversations.map(({ id }) => id);
}

const cleared = (by: LabelPerson, id: string, label = 'untrusted'): unknown =>
  questions()['label-clear']?.({ to: 'here', said: JSON.stringify({ id, label, ...by }) });

const operator: LabelPerson = { roles: ['operator'], facts: factsOf('ops') };
const approver: LabelPerson = { roles: ['approver'], facts: factsOf('app') };
const approverOfAcme: LabelPerson = { roles: ['approver'], facts: factsOf('ada', 'acme') };
const adminOfAcme: LabelPerson = { roles: [], facts: factsOf('boss', 'acme'), tenant: 'acme' };

describe('labels of conversations', () => {
  it.each([
    ['an operator', operator, ['s3', 's2', 's1']],
    ['an operator with a tenant', { ...operator, facts: factsOf('ops', 'acme') }, ['s3', 's2', 's1']],
    ['an approver without a tenant', approver, ['s3', 's2', 's1']],
    ['an approver of a tenant', approverOfAcme, ['s1']],
    ['an administrator of a tenant', adminOfAcme, ['s1']],
    ['a viewer', { roles: ['viewer'], facts: factsOf('vi') }, []],
    ['a caller without a role', { roles: [], facts: factsOf('ann', 'acme') }, []],
  ] as const)('%s sees those that it may see, the latest first', async (_who, by, expected) => {
    expect(await seen(by)).toEqual(expected);
  });

  it('are found by user, client, conversation, session and label', async () => {
    expect(await seen(operator, { user: 'ann' })).toEqual(['s1']);
    expect(await seen(operator, { user: `${issuer}|bob` })).toEqual(['s2']);
    expect(await seen(operator, { user: 'nn' })).toEqual([]);
    expect(await seen(operator, { client: 'client of cyd' })).toEqual(['s3']);
    expect(await seen(operator, { conversation: 's2' })).toEqual(['s2']);
    expect(await seen(operator, { session: 'session s2' })).toEqual(['s2']);
    expect(await seen(operator, { label: 'private' })).toEqual([]);
  });

  it('are cleared by a person that may: in its tenant, and not in its own conversation', async () => {
    expect(await cleared(approverOfAcme, 's2')).toMatchObject({ kind: 'unknown' });
    expect(await cleared(adminOfAcme, 's3')).toMatchObject({ kind: 'unknown' });
    expect(await cleared({ roles: ['auditor'], facts: factsOf('aud') }, 's1')).toMatchObject({ kind: 'forbidden' });
    expect(await cleared({ roles: [], facts: factsOf('bob', 'beta') }, 's1')).toMatchObject({ kind: 'unknown' });
    expect(await cleared({ ...operator, facts: factsOf('cyd') }, 's3')).toMatchObject({
      kind: 'forbidden',
      problem: 'no user clears labels of their own conversations',
    });
    expect(await cleared(operator, 's1', 'private')).toMatchObject({ kind: 'unknown' });
    expect(await cleared(approverOfAcme, 's1')).toMatchObject({ cleared: { label: 'untrusted', item: 'fetch' } });
    expect(await seen(operator)).toEqual(['s3', 's2']);
  });

  it('are not looked for where no rule adds or needs labels', async () => {
    policy = undefined;
    expect(await seen(operator)).toEqual([]);
    expect(await cleared(operator, 's1')).toMatchObject({ kind: 'unknown' });
  });

  it('have a bound in one answer, which keeps the latest and says how many there are', async () => {
    for (let index = 10; index < 1_200; index += 1)
      await board.add(of(`s${index}`, 'ann', 'acme'), [{ ...untrusted, at: index }], 60_000);
    const { conversations, total } = (await questions()['labels']?.({ of: operator })) as {
      readonly conversations: readonly SentConversation[];
      readonly total: number;
    };
    expect([conversations.length, total, conversations[0]?.id, conversations.at(-1)?.id]).toEqual([
      500,
      1_193,
      's1199',
      's700',
    ]);
  });

  it('are cleared by signed decisions only if callers are known', async () => {
    const signed = labelQuestions({
      bus: () => bus,
      process: 'here',
      signedWith: () => [Buffer.alloc(32)],
      policy: () => Promise.resolve(policy),
    });
    const said = JSON.stringify({ id: 's1', label: 'untrusted', ...operator });
    expect(await signed['label-clear']?.({ to: 'here', said, signature: 'none' })).toMatchObject({ kind: 'unsigned' });
  });
});
