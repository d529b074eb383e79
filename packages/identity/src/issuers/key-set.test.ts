/** Known keys of an issuer, as time passes. */
import type { JWK } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StandInIssuer } from '../testing/stand-in-issuer.ts';
import { KeySet } from './key-set.ts';

let issuer: StandInIssuer;
let at = 0;
let failures: string[] = [];

beforeEach(async () => {
  issuer = await StandInIssuer.start();
  at = 0;
  failures = [];
});

afterEach(() => issuer[Symbol.asyncDispose]());

const keysOf = (jwksUri?: string): KeySet =>
  new KeySet({ issuer: issuer.issuer, jwksUri, failed: (problem) => failures.push(problem), now: () => at });
const minutes = (count: number): number => count * 60_000;

it('metadata that nobody needs for keys are asked for again too, and serve for a day while the issuer does not answer', async () => {
  const keys = keysOf(`${issuer.issuer}/keys`);
  const endpoint = async (): Promise<unknown> => (await keys.metadata())['token_endpoint'];
  const [before, after] = [`${issuer.issuer}/token`, `${issuer.issuer}/moved`];
  expect(await endpoint()).toBe(before);
  issuer.saysInstead = { token_endpoint: after };
  at = minutes(9);
  expect(await endpoint()).toBe(before);
  at = minutes(11);
  await expect.poll(endpoint).toBe(after);
  issuer.isBroken = true;
  at += minutes(60);
  expect(await endpoint()).toBe(after);
  at += minutes(24 * 60);
  await expect(endpoint()).rejects.toThrow('it answers 500');
  issuer.isBroken = false;
  at += minutes(1);
  expect(await endpoint()).toBe(after);
});

it('metadata are not lost with keys that cannot be fetched', async () => {
  const keys = keysOf();
  await keys.load();
  issuer.isBroken = true;
  at = minutes(11);
  await expect(keys.load()).rejects.toThrow('it answers 500');
  expect(await keys.metadata()).toMatchObject({ issuer: issuer.issuer });
});

it('keys are looked for in the metadata of OpenID Connect where those of OAuth name none', async () => {
  issuer.saysInstead = { jwks_uri: undefined };
  issuer.openId = { issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys` };
  await keysOf().load();
  expect(failures).toEqual([]);
  expect(await keysOf().metadata()).toEqual(issuer.openId);
});

it('what is no set of keys is named by its address', async () => {
  await expect(keysOf(`${issuer.issuer}/.well-known/oauth-authorization-server`).load()).rejects.toThrow(
    `${issuer.issuer}/.well-known/oauth-authorization-server: its answer is no set of keys`,
  );
});

describe('a key', () => {
  const finds = async (keys: KeySet): Promise<string> => {
    const { kid = '' } = first;
    try {
      await keys.find({ alg: 'ES256', kid }, { payload: '', signature: '' });
      return 'found';
    } catch (error) {
      return (error as Error).constructor.name;
    }
  };
  let first: JWK;
  beforeEach(() => {
    first = issuer.publicKey;
  });

  it('that the issuer has removed is refused at once where nothing was checked for a while', async () => {
    const keys = keysOf();
    expect(await finds(keys)).toBe('found');
    await issuer.rotate();
    issuer.withdraw(first);
    at = minutes(21);
    expect(await finds(keys)).toBe('JWKSNoMatchingKey');
  });

  it('that the issuer has removed is refused although a fetch failed hours before', async () => {
    const keys = keysOf();
    expect(await finds(keys)).toBe('found');
    issuer.isBroken = true;
    at = minutes(11);
    expect(await finds(keys)).toBe('found');
    await expect.poll(() => failures).toHaveLength(1);
    issuer.isBroken = false;
    await issuer.rotate();
    issuer.withdraw(first);
    at += minutes(8 * 60);
    expect(await finds(keys)).toBe('JWKSNoMatchingKey');
  });

  it('serves for a day while the issuer does not answer, and only the first token waits for the issuer', async () => {
    const keys = keysOf();
    expect(await finds(keys)).toBe('found');
    issuer.isBroken = true;
    at = minutes(21);
    expect(await finds(keys)).toBe('found');
    expect(failures).toHaveLength(1);
    issuer.isSilent = true;
    at += minutes(1);
    expect(await finds(keys)).toBe('found');
    expect(failures).toHaveLength(1);
    issuer.isSilent = false;
    at += minutes(24 * 60);
    expect(await finds(keys)).toBe('KeysUnavailable');
  });
});
