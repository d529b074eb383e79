/** Which issuer a server is believed to have, by what it and the issuer answer. */
import { expect, it } from 'vitest';
import { discover } from './discovery.ts';
import type { Fetch } from './outbound.ts';

const url = 'https://server.example/mcp';
const wellKnown = 'https://server.example/.well-known';
const endpoints = { authorization_endpoint: 'https://server.example/authorize', token_endpoint: 'https://server.example/token' };

/** Everything else is not there. */
const answering = (answers: Readonly<Record<string, number | object>>): Fetch => (address) => {
  const answer = answers[address] ?? 404;
  return Promise.resolve(typeof answer === 'number' ? new Response('no', { status: answer }) : new Response(JSON.stringify(answer)));
};

it.each(['https://issuer.example', 'https://server.example.evil.example', 'http://server.example', 'no address'])('a server that says nothing of its issuer is not believed to be %s', async (issuer) => {
  for (const name of ['oauth-authorization-server', 'openid-configuration']) {
    await expect(discover({ fetch: answering({ [`${wellKnown}/${name}`]: { issuer, ...endpoints } }), url })).rejects.toThrow(/which is not at https:\/\/server\.example/);
  }
});

it.each(['https://server.example', 'https://server.example/', 'https://server.example/tenant'])('a server that says nothing of its issuer may be %s', async (issuer) => {
  expect(await discover({ fetch: answering({ [`${wellKnown}/oauth-authorization-server`]: { issuer, ...endpoints } }), url })).toMatchObject({ issuer, server: endpoints });
});
