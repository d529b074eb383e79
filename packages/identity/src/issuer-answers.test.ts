/** What issuers say of tokens in unusual ways, and what happens when they say nothing. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rootEndpoint } from '@omnibus/protocol';
import { Authenticator } from './authenticator.ts';
import type { IssuerOptions } from './issuers/issuer.ts';
import { StandInIssuer } from './testing/index.ts';

const publicUrl = 'https://mcp.example.com';
const audience = `${publicUrl}/mcp`;

let issuer: StandInIssuer;
let authenticator: Authenticator;
let warnings: string[];

async function open(more: Partial<IssuerOptions> = {}): Promise<void> {
  authenticator = await Authenticator.open({
    issuers: [
      {
        issuer: issuer.issuer,
        subject: 'sub',
        groups: 'groups',
        algorithms: ['ES256'],
        tokenType: 'auto',
        introspection: { url: `${issuer.issuer}/introspect`, clientId: 'omnibus', clientSecret: 'secret' },
        ...more,
      },
    ],
    resource: { publicUrl, audience: [], scopes: [] },
    warn: (details) => warnings.push(JSON.stringify(details)),
  });
}

beforeEach(async () => {
  warnings = [];
  issuer = await StandInIssuer.start();
  await open();
});

afterEach(async () => {
  await authenticator.close();
  await issuer[Symbol.asyncDispose]();
});

async function problemOf(token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const verdict = await authenticator.authenticate(
    { headers, rawHeaders: Object.entries(headers).flat() },
    { url: '/mcp', endpoint: rootEndpoint, peer: '198.51.100.1', address: () => '198.51.100.1' },
  );
  return 'fault' in verdict ? `${verdict.fault.reason}: ${verdict.fault.message}` : `accepted ${verdict.subject}`;
}

const signed = (claims: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  issuer.token({ sub: 'ann', aud: audience, ...claims });

it.each<[string, object, RegExp]>([
  [
    'its user by a name and not by the subject',
    { sub: undefined, username: 'ann', client_id: 'portal' },
    /names nobody: it has no claim "sub"/,
  ],
  [
    'its user by a subject that is not the configured one',
    { sub: undefined, user_name: 'ann', client_id: 'portal' },
    /names nobody: it has no claim "sub"/,
  ],
])(
  'an opaque token whose issuer says %s does not identify its program, which others use too',
  async (_what, says, expected) => {
    issuer.opaque.set('odd', { active: true, aud: audience, ...says });
    expect(await problemOf('odd')).toMatch(expected);
  },
);

it('a token of a user without the configured claim is not taken for one of the program that others use too', async () => {
  await authenticator.close();
  await open({ subject: 'uid' });
  expect(await problemOf(await signed({ client_id: 'portal' }))).toMatch(/names nobody: it has no claim "uid"/);
  // A program's own token names the program, or no subject.
  expect(await problemOf(await signed({ sub: 'ci', client_id: 'ci' }))).toBe('accepted client:ci');
  expect(await problemOf(await signed({ sub: 'ci@clients', client_id: 'ci' }))).toBe('accepted client:ci');
  expect(await problemOf(await signed({ sub: undefined, client_id: 'ci' }))).toBe('accepted client:ci');
  for (const more of [{}, { client_id: 'editor' }])
    expect(await problemOf(await signed({ uid: 'client:ci', ...more }))).toContain('begins with "client:"');
});

it('what an issuer says to be null is not there', async () => {
  const nothing = { cnf: null, act: null, groups: null, nbf: null, scope: null, client_id: null };
  expect(await problemOf(await signed({ ...nothing, nbf: undefined }))).toBe('accepted ann');
  issuer.opaque.set('nulls', { active: true, sub: 'ann', aud: audience, iss: null, exp: null, ...nothing });
  expect(await problemOf('nulls')).toBe('accepted ann');
});

it('an opaque token may have dots', async () => {
  issuer.opaque.set('a.b.c', { active: true, sub: 'ann', aud: audience });
  expect(await problemOf('a.b.c')).toBe('accepted ann');
  expect(await problemOf(await signed({ iss: 'https://evil.example' }))).toMatch(/its issuer is https/);
});

it('when an issuer does not answer, the log has the reason, once, and the caller gets nothing of its answer', async () => {
  issuer.isBroken = true;
  for (const token of ['one', 'two', 'three'])
    expect(await problemOf(token)).toBe(`auth.unavailable: ${issuer.issuer} cannot be asked about tokens now`);
  expect(warnings).toEqual([expect.stringContaining(`${issuer.issuer}/introspect: it answers 500`)]);
});
