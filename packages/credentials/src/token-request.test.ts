/** The ways in which the gateway authenticates to an issuer. */
import { expect, it } from 'vitest';
import { requestTokens } from './token-request.ts';

const issuer = 'https://issuer.example';

it.each([
  ['refresh-1234567890', 'HTTP 400'],
  ['the-token:refresh-1234567890', 'HTTP 400'],
  ['hush/hush', 'HTTP 400'],
  ['invalid_grant', 'invalid_grant'],
  ['expired_session', 'expired_session'],
])('the error code %s of an issuer is shown as %s: one that repeats what was sent is not', async (code, shown) => {
  await expect(
    requestTokens({
      fetch: () => Promise.resolve(new Response(JSON.stringify({ error: code }), { status: 400 })),
      server: { issuer, token_endpoint: `${issuer}/token` },
      client: { clientId: 'gateway', clientSecret: 'hush/hush' },
      grant: 'refresh_token',
      parameters: { refresh_token: 'refresh-1234567890', scope: 'expired_session' },
    }),
  ).rejects.toThrow(`gives no token: ${shown}`);
});

it.each([
  ['a-b_c.d', 'x~y z', 'a-b_c.d:x%7Ey+z'],
  ['plain', 'a:b%c/d+e', 'plain:a%3Ab%25c%2Fd%2Be'],
  ['https://gateway.example/client.json', 'ü', 'https%3A%2F%2Fgateway.example%2Fclient.json:%C3%BC'],
])(
  'a client %s with the secret %s is encoded as in a form, and no further',
  async (clientId, clientSecret, expected) => {
    let shown = '';
    const tokens = await requestTokens({
      fetch: (_address, request) => {
        shown = request?.headers?.['authorization'] ?? '';
        return Promise.resolve(new Response(JSON.stringify({ access_token: 'a', token_type: 'bearer' })));
      },
      server: { issuer, token_endpoint: `${issuer}/token` },
      client: { clientId, clientSecret },
      grant: 'client_credentials',
      parameters: {},
    });
    expect([tokens.accessToken, Buffer.from(shown.replace('Basic ', ''), 'base64').toString()]).toEqual([
      'a',
      expected,
    ]);
  },
);
