/** Warnings about guardrails that are valid, but probably mistaken. */
import { expect, it } from 'vitest';
import { configOf } from '@omnibus/config/testing';
import { guardrailWarnings } from './guards.ts';

const [issuer, url] = ['https://login.example.com', 'https://judge.example.com/mcp'];
const auth = { publicUrl: 'https://mcp.example.com', auth: { issuers: [{ issuer }] } };

/** The warnings of a gateway with one guardrail that asks a server with these credentials. */
function warningsFor(credentials: object, more: object = {}): readonly string[] {
  const config = configOf({
    ...more,
    mcpServers: { judge: { url, credentials } },
    guardrails: [{ id: 'judged', who: 'everyone', what: 'judge/*', on: 'requests', tool: 'judge/look' }],
  });
  return guardrailWarnings(config);
}

it.each([
  ['oauth', { kind: 'oauth' }],
  ['exchange', { kind: 'exchange', issuer, clientId: 'gateway', clientSecret: 's' }],
])(
  "a guardrail that asks a server with credentials of kind %s is warned of, since the gateway asks in no user's name",
  (_kind, credentials) => {
    expect(warningsFor(credentials, auth)).toEqual([
      expect.stringContaining('asks a server that is called in the name of its users'),
    ]);
  },
);

it('a guardrail may ask a server that is called in the name of the gateway, or of the one user of a machine', () => {
  expect(warningsFor({ kind: 'client', issuer, clientId: 'gateway', clientSecret: 's' }, auth)).toEqual([]);
  expect(warningsFor({ kind: 'oauth' })).toEqual([]);
});
