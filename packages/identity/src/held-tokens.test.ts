/** Which tokens of callers are passed on for keeping: those that prove the caller of a request to an endpoint, and no others. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rootEndpoint } from '@omnibus/protocol';
import { Authenticator } from './authenticator.ts';
import type { Verdict } from './facts.ts';
import { StandInIssuer } from './testing/stand-in-issuer.ts';

const publicUrl = 'https://mcp.example.com';
let issuer: StandInIssuer;
let authenticator: Authenticator;
let held: [subject: string, token: string][];

beforeEach(async () => {
  held = [];
  issuer = await StandInIssuer.start();
  authenticator = await Authenticator.open({
    issuers: [
      {
        issuer: issuer.issuer,
        algorithms: ['ES256'],
        tokenType: 'auto',
        subject: 'sub',
        groups: 'groups',
        require: {},
      },
    ],
    resource: { publicUrl, audience: [], scopes: [] },
    proxy: { addresses: ['10.0.0.1'], userHeader: 'x-user' },
    warn: () => undefined,
    held: (facts, token) => {
      held.push([facts.subject, token]);
      return { ...facts, groups: ['held'] };
    },
  });
});
afterEach(async () => {
  await authenticator.close();
  await issuer[Symbol.asyncDispose]();
});

/** @param more differences from a request of a stranger to an endpoint. */
async function ask(
  token: string,
  {
    user,
    peer = '198.51.100.1',
    isAdminPort,
  }: { readonly user?: string; readonly peer?: string; readonly isAdminPort?: true } = {},
): Promise<Verdict> {
  const headers = { authorization: `Bearer ${token}`, ...(user === undefined ? {} : { 'x-user': user }) };
  return authenticator.authenticate(
    { headers, rawHeaders: Object.entries(headers).flat() },
    {
      url: '/mcp',
      endpoint: rootEndpoint,
      peer,
      address: () => peer,
      ...(isAdminPort === undefined ? {} : { isAdminPort }),
    },
  );
}

it('a token that proves its caller is passed on with each request, and the facts are those that come back', async () => {
  const token = await issuer.token({ sub: 'ann', aud: `${publicUrl}/mcp` });
  for (const _time of ['when it is checked', 'when it is known'])
    expect(await ask(token)).toMatchObject({ subject: 'ann', groups: ['held'] });
  expect(held).toEqual([
    ['ann', token],
    ['ann', token],
  ]);
});

it('a token that is refused, is shown at the admin port, or comes with the name that a proxy gives, is not passed on', async () => {
  const token = await issuer.token({ sub: 'ann', aud: `${publicUrl}/mcp` });
  expect(await ask(await issuer.token({ sub: 'ann', aud: 'https://other.example' }))).toMatchObject({
    fault: { reason: 'auth.invalid' },
  });
  expect(await ask(token, { isAdminPort: true })).toMatchObject({ subject: 'ann', groups: [] });
  expect(await ask(token, { user: 'ben', peer: '10.0.0.1' })).toMatchObject({ subject: 'ben' });
  expect(held).toEqual([]);
});
