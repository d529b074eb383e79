import { expect, it } from 'vitest';
import { loadOptions } from './testing/config-of.ts';

const token = 'a'.repeat(32);

function problemsOf(scim: string, auth = ''): readonly string[] {
  const loaded = loadOptions(
    `publicUrl: https://mcp.example.com\nauth: { issuers: [{ issuer: https://a.example }, { issuer: https://b.example, tenant: org }]${auth}, scim: [${scim}] }\nmcpServers: { a: { url: http://127.0.0.1:4001/mcp } }`,
  );
  return 'problems' in loaded ? loaded.problems.map(({ message }) => message) : [];
}

it('a directory is of an issuer that callers have tokens of, in a tenant if that has tenants', () => {
  expect(problemsOf(`{ issuer: https://a.example, token: ${token} }`)).toEqual([]);
  expect(problemsOf(`{ issuer: https://b.example, tenant: acme, token: [${token}, ${token.toUpperCase()}] }`)).toEqual(
    [],
  );
  expect(
    problemsOf(
      `{ issuer: https://c.example, token: ${token} }`,
      ', server: { signIn: { issuer: https://c.example, clientId: x } }',
    ),
  ).toEqual([]);
});

it.each([
  [`{ issuer: https://c.example, token: ${token} }`, /no caller has tokens of this issuer/],
  [`{ issuer: https://b.example, token: ${token} }`, /callers of this issuer have tenants/],
  [`{ issuer: https://a.example, tenant: acme, token: ${token} }`, /callers of this issuer have no tenant/],
  [`{ issuer: https://a.example, token: short }`, /at least 32 letters/],
  [
    `{ issuer: https://a.example, token: ${token} }, { issuer: https://a.example, token: ${'b'.repeat(32)} }`,
    /listed twice/,
  ],
  [
    `{ issuer: https://a.example, token: ${token} }, { issuer: https://b.example, tenant: acme, token: ${token} }`,
    /another directory has the same token/,
  ],
])('a mistake is refused: %s', (scim, words) => {
  expect(problemsOf(scim)).toEqual([expect.stringMatching(words)]);
});
