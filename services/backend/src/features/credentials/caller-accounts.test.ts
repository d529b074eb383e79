/** Tokens for a server in the names of callers, which the edges make that know these callers. */
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CredentialProblem, sealToken, TokenReceiver, type Challenge } from '@omnibus/credentials';
import type { CallerTokenAsk, CallerTokenReply, Principal, ServerName, WorkerId } from '@omnibus/protocol';
import { CallerAccounts } from './caller-accounts.ts';

const server = 'records' as ServerName;
const [ann, ben] = ['p_ann' as Principal, 'p_ben' as Principal];
const refusal: Challenge = { resourceMetadata: 'https://records.example/meta', scope: 'read', error: 'invalid_token' };
const receiver = new TokenReceiver();

let asked: (CallerTokenAsk & { readonly edge: WorkerId })[];
let failures: string[];
let answer: (ask: CallerTokenAsk) => Promise<CallerTokenReply>;
let accounts: CallerAccounts;
let made: number;
let gone: ReadonlySet<string>;

/** A token as an edge seals it. @param more differences in it. */
async function given({ key, principal }: CallerTokenAsk, more: object = {}): Promise<CallerTokenReply> {
  made += 1;
  return {
    kind: 'token',
    sealed: await sealToken(key, {
      server,
      principal,
      authorization: `Bearer ${principal}-${made}`,
      until: Date.now() + 600_000,
      ...more,
    }),
  };
}

/** A call of this caller comes from that edge. */
function meets(principal: Principal, at: string): void {
  accounts.met({
    principal,
    who: { issuer: 'https://login.example.com', subject: principal, tenant: undefined, groups: [], at: at as WorkerId },
  });
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  [asked, failures, made, gone, answer] = [[], [], 0, new Set(), (ask) => given(ask)];
  accounts = new CallerAccounts({
    server,
    receiver,
    isGone: ({ subject }) => gone.has(subject),
    failed: (problem) => failures.push(problem),
    ask: async (edge, ask) => {
      asked.push({ ...ask, edge });
      return answer(ask);
    },
  });
  meets(ann, 'edge-1');
});
afterEach(() => void vi.useRealTimers());

it('the edge that knows a caller is asked once, however many requests wait, and again after a minute, wherever the caller is by then', async () => {
  const sent = await Promise.all([1, 2, 3].map(() => accounts.of(ann).ask()));
  expect(new Set(sent.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer p_ann-1']));
  expect(asked).toMatchObject([{ edge: 'edge-1', server, principal: ann }]);
  expect(accounts.of(ann).secrets).toEqual(['p_ann-1']);
  meets(ann, 'edge-2');
  expect(accounts.of(ann).current).toEqual({ authorization: 'Bearer p_ann-1' });
  vi.setSystemTime(Date.now() + 60_000);
  expect(accounts.of(ann).current).toBeUndefined();
  await accounts.of(ann).ask();
  expect(asked.map(({ edge }) => edge)).toEqual(['edge-1', 'edge-2']);
});

it('a token is used no longer than the edge says', async () => {
  answer = (ask) => given(ask, { until: Date.now() + 5_000 });
  await accounts.of(ann).ask();
  vi.setSystemTime(Date.now() + 5_000);
  expect(accounts.of(ann).current).toBeUndefined();
});

it('after a refusal the edge is told which token was refused, never the token, and what the server demands; too few rights are not asked for again', async () => {
  const source = accounts.of(ann);
  const first = await source.ask();
  expect(await source.refused(first, { ...refusal, error: 'insufficient_scope' })).toBe(false);
  expect(await source.refused(first, refusal)).toBe(true);
  expect(await source.refused(first, refusal)).toBe(true);
  expect(await source.ask()).toEqual({ authorization: 'Bearer p_ann-2' });
  expect(asked).toHaveLength(2);
  expect(asked[1]).toMatchObject({
    resourceMetadata: refusal.resourceMetadata,
    scope: 'read',
    refused: expect.stringMatching(/^[\w-]{43}$/) as string,
  });
  expect(JSON.stringify(asked)).not.toContain('p_ann-1');
  await source.gaveUp(await source.ask(), refusal);
  expect([source.current, source.wanted]).toEqual([undefined, refusal]);
});

it('a token that the edge has given once more meanwhile is the one that was refused, and the one before it stays a secret', async () => {
  const source = accounts.of(ann);
  await source.ask();
  vi.setSystemTime(Date.now() + 60_000);
  const sent = await source.ask();
  answer = (ask) => given(ask, { authorization: sent['authorization'] });
  vi.setSystemTime(Date.now() + 60_000);
  await source.ask();
  expect(source.secrets).toEqual(['p_ann-2', 'p_ann-1']);
  answer = (ask) => given(ask);
  expect(await source.refused(sent, refusal)).toBe(true);
  expect(source.current).not.toEqual(sent);
  expect(asked.at(-1)).toHaveProperty('refused');
});

it('what the server has demanded over the shared connection is told to the edge with the first question', async () => {
  await accounts.base.refused({}, refusal);
  await accounts.of(ann).ask();
  expect(asked).toMatchObject([{ resourceMetadata: refusal.resourceMetadata, scope: 'read' }]);
  expect(accounts.wantsSignIn).toBe(true);
});

it('a caller without a token is told so, and no edge is asked', async () => {
  accounts.met({ principal: ben });
  await expect(accounts.of(ben).ask()).rejects.toThrow(/this caller is known by something else, such as an API key/);
  expect([asked, accounts.of(ben).wanted !== undefined]).toEqual([[], true]);
});

it('a problem of the edge is passed on as it is, and ends with the next token; an edge that does not answer is counted', async () => {
  answer = () =>
    Promise.resolve({ kind: 'failed', problem: 'the issuer gives no token: invalid_grant', isPassing: false });
  await expect(accounts.of(ann).ask()).rejects.toMatchObject({
    message: 'the issuer gives no token: invalid_grant',
    isPassing: false,
  });
  expect([failures, accounts.of(ann).wanted !== undefined]).toEqual([[], true]);
  answer = () => Promise.reject(new CredentialProblem('the edge does not answer', { isPassing: true }));
  await expect(accounts.of(ann).ask()).rejects.toMatchObject({ isPassing: true });
  expect(failures).toEqual(['the edge does not answer']);
  answer = (ask) => given(ask);
  await accounts.of(ann).ask();
  expect(accounts.of(ann).wanted).toBeUndefined();
});

it.each([
  ['another user', { principal: ben }],
  ['another server', { server: 'mail' }],
])('a token for %s is not used', async (_whose, more) => {
  answer = (ask) => given(ask, more);
  await expect(accounts.of(ann).ask()).rejects.toThrow('the edge gave a token that cannot be read here');
  expect(accounts.of(ann).current).toBeUndefined();
});

it('a token that is bound to a key is sent with a proof by that key, and plain ones without', async () => {
  const proofKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const source = accounts.of(ann);
  expect(source.prove(await source.ask(), 'POST', 'https://records.example/mcp')).toBeUndefined();
  vi.setSystemTime(Date.now() + 60_000);
  answer = (ask) => given(ask, { authorization: 'DPoP bound', proofKey });
  const { dpop = '' } = source.prove(await source.ask(), 'POST', 'https://records.example/mcp') ?? {};
  const [header = '', claims = ''] = dpop.split('.');
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({
    typ: 'dpop+jwt',
    jwk: { x: proofKey.x },
  });
  source.noteNonce('https://records.example/mcp', 'nonce-1');
  vi.setSystemTime(Date.now() + 60_000);
  const again = source.prove(await source.ask(), 'POST', 'https://records.example/mcp')?.['dpop'] ?? '';
  expect(JSON.parse(Buffer.from(again.split('.')[1] ?? '', 'base64url').toString())).toMatchObject({
    nonce: 'nonce-1',
    htm: 'POST',
  });
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).not.toHaveProperty('nonce');
});

it('what was made for a removed user is dropped, and no edge is asked until another person has the name', async () => {
  meets(ben, 'edge-1');
  const former = accounts.of(ann);
  await former.ask();
  await accounts.of(ben).ask();
  gone = new Set([ann]);
  expect(accounts.forgetGone(({ subject }) => gone.has(subject))).toEqual([ann]);
  meets(ann, 'edge-1');
  await expect(accounts.of(ann).ask()).rejects.toThrow('a directory has deactivated, deleted or renamed this caller');
  expect(asked).toHaveLength(2);
  gone = new Set();
  expect(await accounts.of(ann).ask()).toEqual({ authorization: 'Bearer p_ann-3' });
  expect(accounts.of(ben).current).toEqual({ authorization: 'Bearer p_ben-2' });
});
