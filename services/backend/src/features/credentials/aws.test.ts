import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignatureV4 } from '@smithy/signature-v4';
import { CredentialProblem, type SentHeaders } from '@omnibus/credentials';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { AwsSignatures } from './aws.ts';

const keys = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

/** Only what a test sets is found. */
beforeEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
  onTestFinished(() => void vi.unstubAllEnvs());
});

/** A digest as the other implementation of signatures takes it. */
class Sha256 {
  readonly #parts: Buffer[] = [];
  readonly #key: Buffer | undefined;

  constructor(key?: unknown) {
    this.#key = key === undefined ? undefined : Buffer.from(key as Uint8Array);
  }

  update(part: unknown): void {
    this.#parts.push(typeof part === 'string' ? Buffer.from(part) : Buffer.from(part as Uint8Array));
  }

  digest(): Promise<Uint8Array> {
    const digest = this.#key === undefined ? createHash('sha256') : createHmac('sha256', this.#key);
    for (const part of this.#parts) digest.update(part);
    return Promise.resolve(new Uint8Array(digest.digest()));
  }

  reset(): void {
    this.#parts.length = 0;
  }
}

/** The signature by the AWS SDK of the same request at the same time, with the headers that were signed. */
async function asSdk(
  signed: SentHeaders,
  {
    method,
    address,
    body,
    sessionToken,
  }: {
    readonly method: string;
    readonly address: string;
    readonly body?: string | undefined;
    readonly sessionToken?: string;
  },
): Promise<string | undefined> {
  const { host, hostname, pathname, searchParams, protocol } = new URL(address);
  const date = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(signed['x-amz-date'] ?? '') ?? [];
  const signer = new SignatureV4({
    service: 'bedrock-agentcore',
    region: 'eu-central-1',
    sha256: Sha256,
    applyChecksum: false,
    credentials: {
      accessKeyId: keys.AWS_ACCESS_KEY_ID,
      secretAccessKey: keys.AWS_SECRET_ACCESS_KEY,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    },
  });
  const { headers } = await signer.sign(
    {
      method,
      protocol,
      hostname,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: { host },
      ...(body === undefined ? {} : { body }),
    },
    { signingDate: new Date(`${date.slice(1, 4).join('-')}T${date.slice(4).join(':')}Z`) },
  );
  return headers['authorization'];
}

function signatures(more: Partial<ConstructorParameters<typeof AwsSignatures>[0]> = {}): {
  readonly source: AwsSignatures;
  readonly asked: string[];
} {
  const asked: string[] = [];
  return {
    asked,
    source: new AwsSignatures({
      service: 'bedrock-agentcore',
      region: 'eu-central-1',
      asked: (outcome) => void asked.push(outcome),
      ...more,
    }),
  };
}

const arn = encodeURIComponent('arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/files-a1B2');

describe.each([undefined, 'session-token-example'])('with a session token: %s', (sessionToken) => {
  it.each([
    ['POST', 'https://agents.example/mcp', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ['POST', `https://agents.example/runtimes/${arn}/invocations?qualifier=DEFAULT&a=b%20c`, '{"text":"zoë"}'],
    ['GET', 'https://agents.example:8443/mcp', undefined],
    ['DELETE', 'https://agents.example/a/../b//c', undefined],
  ])('signs %s %s as the AWS SDK does', async (method, address, body) => {
    for (const [name, value] of Object.entries(keys)) vi.stubEnv(name, value);
    if (sessionToken !== undefined) vi.stubEnv('AWS_SESSION_TOKEN', sessionToken);
    const { source, asked } = signatures();
    expect(source.current).toBeUndefined();
    const sent = await source.ask();
    expect(source.current).toBe(sent);
    const signed = source.prove(sent, method, address, body) ?? {};
    expect(Object.keys(signed).toSorted()).toEqual([
      'authorization',
      'x-amz-date',
      ...(sessionToken === undefined ? [] : ['x-amz-security-token']),
    ]);
    expect(signed['authorization']).toBe(
      await asSdk(signed, { method, address, body, ...(sessionToken === undefined ? {} : { sessionToken }) }),
    );
    expect(source.secrets).toEqual([keys.AWS_SECRET_ACCESS_KEY, ...(sessionToken === undefined ? [] : [sessionToken])]);
    expect(asked).toEqual(['good']);
  });
});

it('says in words that there are no credentials, and looks again a while later', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { source, asked } = signatures({ profile: 'nobody' });
  const problem = await source.ask().then(
    () => expect.fail('there are none'),
    (error: unknown) => error as CredentialProblem,
  );
  expect(problem).toBeInstanceOf(CredentialProblem);
  expect([problem.isPassing, problem.message]).toEqual([
    true,
    expect.stringContaining('no credentials of the profile nobody'),
  ]);
  await expect(source.ask()).rejects.toBe(problem);
  expect(asked).toEqual(['unavailable']);
  vi.setSystemTime(Date.now() + 6_000);
  await expect(source.ask()).rejects.not.toBe(problem);
  expect(asked).toEqual(['unavailable', 'unavailable']);
});

it('looks for credentials of a container anew before they expire, and when they are refused', async () => {
  let given = 0;
  let lifeMs = 3_600_000;
  const server = createServer((_request, response) => {
    given += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        AccessKeyId: `AKID${given}`,
        SecretAccessKey: `secret-${given}`,
        Token: `token-${given}`,
        Expiration: new Date(Date.now() + lifeMs).toISOString(),
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  vi.stubEnv(
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/credentials`,
  );
  const { source } = signatures();
  const proof = (): string =>
    JSON.stringify(source.prove(source.current ?? {}, 'POST', 'https://agents.example/mcp', '{}'));
  const first = await source.ask();
  expect(await source.ask()).toBe(first);
  expect(proof()).toContain('AKID1/');
  // Refused: there are others now, with which the request is sent again; a second refusal of the same request finds these.
  expect(await source.refused(first)).toBe(true);
  expect(await source.refused(first)).toBe(true);
  expect(proof()).toContain('AKID2/');
  lifeMs = 30_000;
  await source.gaveUp();
  await source.ask();
  expect(source.current).toBeUndefined();
  lifeMs = 3_600_000;
  const [one, other] = await Promise.all([source.ask(), source.ask()]);
  expect(one).toBe(other);
  expect(given).toBe(4);
});
