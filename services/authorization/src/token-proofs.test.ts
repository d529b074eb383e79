/** Proofs of keys at the token endpoint: users who share a client, an address or both leave each other room. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT, type JWK } from 'jose';
import { beforeEach, expect, it } from 'vitest';
import { authorizationBuckets } from '@omnibus/bus';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { AuthorizationUnderTest } from './authorization-under-test.ts';
import { TokenProofs } from './token-proofs.ts';
import { digestOf, leastCost } from './users.ts';

const password = 'correct horse battery staple';
const client = 'shared';

let under: AuthorizationUnderTest;

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-proofs-'));
  const digest = await digestOf(password, leastCost);
  under = await AuthorizationUnderTest.start(
    {
      agentsFile: join(folder, 'agents.yaml'),
      clients: [{ id: client, redirectUris: ['http://127.0.0.1/callback'] }],
    },
    ['ann', 'ben'].map((name) => ({ name, password: digest, groups: [], created: '2026-11-01T00:00:00Z' })),
  );
  return async () => {
    await under[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  };
});

/** A user of the shared client, with a key of their own. */
class SignedIn {
  readonly #pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  #refresh = '';

  async start(name: string): Promise<this> {
    expect(await under.signIn({ client, name, password }, (form) => this.ask(form))).toMatchObject({
      token_type: 'DPoP',
    });
    return this;
  }

  refresh(proof?: string): Promise<Readonly<Record<string, string>>> {
    return this.ask({ grant_type: 'refresh_token', refresh_token: this.#refresh }, proof);
  }

  async ask(form: Readonly<Record<string, string>>, proof?: string): Promise<Readonly<Record<string, string>>> {
    const answer = await under.post('/token', { client_id: client, ...form }, { DPoP: proof ?? (await this.#proof()) });
    this.#refresh = answer['refresh_token'] ?? this.#refresh;
    return answer;
  }

  async again(): Promise<readonly unknown[]> {
    const proof = await this.#proof();
    return [await this.refresh(proof), await this.refresh(proof)];
  }

  #proof(): Promise<string> {
    return new SignJWT({ htm: 'POST', htu: `${under.url}/token`, jti: randomUUID() })
      .setProtectedHeader({
        alg: 'ES256',
        typ: 'dpop+jwt',
        jwk: this.#pair.publicKey.export({ format: 'jwk' }) as JWK,
      })
      .setIssuedAt()
      .sign(this.#pair.privateKey);
  }
}

it('a user who refreshes a hundred times leaves the other users of the client their proofs', async () => {
  const [ann, ben] = [await new SignedIn().start('ann'), await new SignedIn().start('ben')];
  for (let count = 0; count < 100; count += 1) expect(await ann.refresh()).toHaveProperty('access_token');
  expect(await ben.refresh()).toHaveProperty('access_token');
}, 60_000);

it.each([
  ['of one address', client, 600],
  ['of one agent', 'agent-deployer', 60],
])('the proofs %s have a bound', (_what, id, most) => {
  const from = (ip: string, clientId: string): KoaContextWithOIDC =>
    ({ ip, oidc: { client: { clientId } } }) as unknown as KoaContextWithOIDC;
  let now = from('198.51.100.1', id);
  const proofs = new TokenProofs(() => now);
  const waits = Array.from({ length: most + 100 }, () => proofs.wait());
  expect(waits.slice(0, most).every((wait) => wait === 0)).toBe(true);
  expect(waits.some((wait) => wait > 0)).toBe(true);
  now = from('198.51.100.2', `${id}-other`);
  expect(proofs.wait()).toBe(0);
});

it('a proof works once, and takes no room of codes and pending sign-ins', async () => {
  const ann = await new SignedIn().start('ann');
  expect(await ann.again()).toMatchObject([{ token_type: 'DPoP' }, { error: 'invalid_grant' }]);
  const kept: string[] = [];
  const short = await under.bus.keyValue<string>(authorizationBuckets.short);
  (await short.watch(({ key }) => void kept.push(key))).close();
  expect(kept.filter((key) => key.startsWith('ReplayDetection'))).toEqual([]);
});
