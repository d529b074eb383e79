/**
 * The sign-in scenarios of the official suites with the gateway as the client, by name, since `--suite auth` runs only a part of them: all 22 of the older suite,
 * all 33 of the newer one. The gate runs one of each kind in one process, the long lane or `OMNIBUS_AUTH=all` all of them, `OMNIBUS_AUTH=nats` all of them with the three roles over NATS.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLongLane } from '../support/lane.ts';
import { driveSignIn } from './drive-sign-in.ts';
import { Driver } from './driver.ts';
import { judgeClient, type SuiteName } from './run-suite.ts';

const both = [
  'metadata-default',
  'metadata-var1',
  'metadata-var2',
  'metadata-var3',
  'basic-cimd',
  'scope-from-www-authenticate',
  'scope-from-scopes-supported',
  'scope-omitted-when-undefined',
  'scope-step-up',
  'scope-retry-limit',
  'token-endpoint-auth-basic',
  'token-endpoint-auth-post',
  'token-endpoint-auth-none',
  'pre-registration',
  '2025-03-26-oauth-metadata-backcompat',
  '2025-03-26-oauth-endpoint-fallback',
  'resource-mismatch',
  'offline-access-scope',
  'offline-access-not-supported',
  'client-credentials-jwt',
  'client-credentials-basic',
];
const older = ['cross-app-access-complete-flow'];
const newer = [
  'enterprise-managed-authorization',
  'authorization-server-migration',
  'iss-supported',
  'iss-not-advertised',
  'iss-supported-missing',
  'iss-wrong-issuer',
  'iss-unexpected',
  'iss-normalized',
  'metadata-issuer-mismatch',
  'wif-jwt-bearer',
  'dpop',
  'dpop-nonce',
];
/** One scenario of each kind. */
const usual = [
  'metadata-var3',
  'scope-step-up',
  'token-endpoint-auth-post',
  'iss-wrong-issuer',
  'client-credentials-jwt',
  'dpop-nonce',
  'enterprise-managed-authorization',
];

const wanted = process.env['OMNIBUS_AUTH'] ?? (isLongLane ? 'all' : undefined);
const shape = wanted === 'nats' ? 'nats' : 'embedded';
const isAll = wanted === 'all' || wanted === 'nats';
const runs: readonly [SuiteName, string][] = isAll
  ? [
      ...[...both, ...older].map((name): [SuiteName, string] => ['@modelcontextprotocol/conformance', name]),
      ...[...both, ...newer].map((name): [SuiteName, string] => ['conformance-next', name]),
    ]
  : usual.map((name) => ['conformance-next', name]);

let driver: Driver;
beforeAll(async () => {
  driver = await Driver.start(driveSignIn(shape));
});
afterAll(() => driver[Symbol.asyncDispose]());

async function passes(suite: SuiteName, name: string): Promise<void> {
  const { status, output } = await judgeClient(suite, { scenario: `auth/${name}`, command: driver.command });
  expect(status, output).toBe(0);
}

describe.concurrent('as a client that signs in,', () => {
  it.each(runs)('with %s, the gateway passes auth/%s', passes);
});
