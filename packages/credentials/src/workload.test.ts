import { expect, it } from 'vitest';
import { WorkloadTokens } from './workload.ts';

const [issuer, url] = ['https://issuer.example', 'https://server.example/mcp'];

it("a token that the server has refused stays a secret while requests with it are in flight, and the client's secret for ever", async () => {
  let given = 0;
  const source = new WorkloadTokens({
    url,
    issuer,
    client: { clientId: 'gateway', clientSecret: 'of-the-client' },
    scope: undefined,
    namesResource: true,
    asked: () => undefined,
    fetch: (address) =>
      Promise.resolve(
        new Response(JSON.stringify({ issuer, token_endpoint: `${issuer}/token` }), {
          status: address.startsWith(issuer) ? 200 : 404,
        }),
      ),
    grant: () =>
      Promise.resolve({
        accessToken: `token-${(given += 1)}`,
        expiresAt: undefined,
        refreshToken: undefined,
        scope: undefined,
      }),
  });
  const sent = await source.ask();
  expect(source.secrets).toEqual(['of-the-client', 'token-1']);
  await source.refused(sent, { resourceMetadata: undefined, scope: undefined, error: 'invalid_token' });
  expect(source.secrets).toEqual(['of-the-client', 'token-1', 'token-2']);
  await source.refused(await source.ask(), { resourceMetadata: undefined, scope: undefined, error: 'invalid_token' });
  expect(source.secrets).toEqual(['of-the-client', 'token-2', 'token-3']);
});
