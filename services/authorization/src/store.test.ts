import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { authorizationBuckets, MemoryBus, type KeyValue } from '@omnibus/bus';
import { adapterFactory, type AdapterOptions } from './adapter.ts';
import { People } from './people.ts';
import { Revocations } from './revocations.ts';
import { SealedStore } from './sealed-store.ts';
import { Secrets } from './secrets.ts';
import { SigningKeys } from './signing-keys.ts';

const tokenMs = 600_000;
const key = randomBytes(32);
let bus: MemoryBus;

beforeEach(() => {
  bus = new MemoryBus((fault) => expect.fail(fault.what));
  return () => bus.drain();
});

const storeOf = async (
  kind: 'short' | 'proofs' | 'long' | 'clients',
  secrets = new Secrets([key]),
): Promise<SealedStore> =>
  new SealedStore(authorizationBuckets[kind].name, await bus.keyValue<string>(authorizationBuckets[kind]), secrets);

/** One of several edges on the same bus. */
async function edge(
  options: Partial<AdapterOptions> = {},
): Promise<ReturnType<typeof adapterFactory> & { readonly revocations: Revocations }> {
  const revocations = await Revocations.open(await bus.keyValue<string>(authorizationBuckets.revoked), tokenMs);
  onTestFinished(() => revocations.close());
  const factory = adapterFactory({
    stores: {
      short: await storeOf('short'),
      proofs: await storeOf('proofs'),
      long: await storeOf('long'),
      clients: await storeOf('clients'),
    },
    revocations,
    refreshGraceMs: 30_000,
    usedBefore: () => new Error('used before'),
    reused: () => undefined,
    ...options,
  });
  return Object.assign(factory, { revocations });
}

describe('what the authorization server keeps', () => {
  it('an assertion or a proof is remembered by one of two edges that have both found it unused, and refused by the other', async () => {
    const edges = await Promise.all([edge(), edge()]);
    const models = edges.map((factory) => factory('ReplayDetection'));
    expect(await Promise.all(models.map((model) => model.find('id')))).toEqual([undefined, undefined]);
    const remembered = await Promise.allSettled(models.map((model) => model.upsert('id', { iss: 'agent-a' }, 60)));
    expect(remembered.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('a proof takes none of the room for codes and pending sign-ins, and only until it works no more', async () => {
    let now = Date.now();
    const model = (await edge({ isProof: (id) => id === 'proof', now: () => now }))('ReplayDetection');
    await model.upsert('proof', { iss: 'client' }, 60);
    expect(await (await storeOf('short')).get('ReplayDetection', 'proof')).toBeUndefined();
    expect(await model.find('proof')).toEqual({ iss: 'client' });
    now += 61_000;
    expect(await model.find('proof')).toBeUndefined();
    await model.upsert('proof', { iss: 'client' }, 60);
  });

  it('is sealed for its place: whoever reads the bus reads nothing, and what is moved opens nowhere', async () => {
    const store = await storeOf('short');
    await store.put('AuthorizationCode', 'secret-code', { user: 'ann' });
    const bucket: KeyValue<string> = await bus.keyValue<string>(authorizationBuckets.short);
    const seen: [string, string][] = [];
    (
      await bucket.watch((change) => {
        if (change.kind === 'put') seen.push([change.key, change.value]);
      })
    ).close();
    expect(seen).toHaveLength(1);
    expect(JSON.stringify(seen)).not.toMatch(/secret-code|ann/);
    await bucket.put(seen[0]?.[0].replace('AuthorizationCode', 'RefreshToken') as string, seen[0]?.[1] as string);
    expect(await store.get('RefreshToken', 'secret-code')).toBeUndefined();
    expect((await store.get('AuthorizationCode', 'secret-code'))?.value).toEqual({ user: 'ann' });
    const newer = await storeOf('short', new Secrets([randomBytes(32), key]));
    expect((await newer.get('AuthorizationCode', 'secret-code'))?.value).toEqual({ user: 'ann' });
    expect(
      await (await storeOf('short', new Secrets([randomBytes(32)]))).get('AuthorizationCode', 'secret-code'),
    ).toBeUndefined();
  });

  it('a code is used once, whichever edges try; the others end all that came of it', async () => {
    const [one, other] = [(await edge())('AuthorizationCode'), (await edge())('AuthorizationCode')];
    await one.upsert('code', { grantId: 'grant' }, 60);
    const results = await Promise.allSettled([one.consume('code'), other.consume('code'), one.consume('code')]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const grants = (await edge())('Grant');
    await grants.upsert('grant', {}, 60);
    expect(await grants.find('grant')).toBeUndefined();
  });

  it('a refresh token may be used again for a moment, and later ends its grant', async () => {
    let now = Date.now();
    const at = await edge({ now: () => now });
    const tokens = at('RefreshToken');
    await tokens.upsert('token', { grantId: 'grant' }, 3_600);
    await tokens.consume('token');
    now += 20_000;
    expect(await tokens.find('token')).toEqual({ grantId: 'grant' });
    await tokens.consume('token');
    now += 20_000;
    expect(await tokens.find('token')).toMatchObject({ consumed: expect.any(Number) as number });
    await expect(tokens.consume('token')).rejects.toThrow('used before');
    expect(at.revocations.has(Revocations.nameOf('grant'))).toBe(true);
    now += 3_600_000;
    expect(await tokens.find('token')).toBeUndefined();
  });

  it('what a user takes back is known to every edge, and what is left stays', async () => {
    const [one, other] = [await edge(), await edge()];
    const people = new People(await storeOf('long'), one.revocations);
    const allowed = {
      clientId: 'client',
      clientName: undefined,
      redirectHosts: ['a.example'],
      scopes: ['mcp'],
      resources: ['https://x/mcp'],
      at: 1,
    };
    await Promise.all(['first', 'second'].map((grantId) => people.allow('ann', { ...allowed, grantId })));
    await people.allow('ann', { ...allowed, grantId: 'first', redirectHosts: ['b.example'] });
    expect((await people.allowed('ann')).find(({ grantId }) => grantId === 'first')?.redirectHosts).toEqual([
      'a.example',
      'b.example',
    ]);
    await people.takeBack('ann', 'first');
    await expect.poll(() => other.revocations.has(Revocations.nameOf('first'))).toBe(true);
    expect(other.revocations.has(Revocations.nameOf('second'))).toBe(false);
    expect((await people.allowed('ann')).map(({ grantId }) => grantId)).toEqual(['second']);
    await people.takeBack('ann', 'nothing of hers');
    expect(await one.revocations.wasRevoked('nothing of hers')).toBe(false);
  });
});

describe('the keys that sign', () => {
  it('are made once, whichever edges come first, and read by nobody else', async () => {
    const bucket = await bus.keyValue<string>(authorizationBuckets.keys);
    const opened = await Promise.all(
      [1, 2, 3].map(() => SigningKeys.open({ bucket, secrets: new Secrets([key]), changed: () => undefined })),
    );
    onTestFinished(() => opened.forEach((each) => each.close()));
    expect(new Set(opened.flatMap(({ all }) => all.map(({ kid }) => kid))).size).toBe(1);
    expect((await bucket.get('ring'))?.value).not.toContain(opened[0]?.all[0]?.kid as string);
  });

  it('are followed by others that are published before they sign, and go when no token of theirs lives', async () => {
    let now = 1_000_000_000_000;
    let changes = 0;
    const bucket = await bus.keyValue<string>(authorizationBuckets.keys);
    const keys = await SigningKeys.open({
      bucket,
      secrets: new Secrets([key]),
      changed: () => (changes += 1),
      now: () => now,
    });
    onTestFinished(() => keys.close());
    const [first] = keys.all;
    now += 31 * 86_400_000;
    await keys.renew();
    expect(keys.all).toHaveLength(2);
    expect(keys.all[0]).toEqual(first);
    const before = changes;
    now += 2 * 3_600_000;
    await keys.renew();
    expect(keys.all[1]).toEqual(first);
    expect(changes).toBe(before + 1);
    now += 2 * 86_400_000;
    await keys.renew();
    expect(keys.all).toHaveLength(1);
    expect(keys.all[0]).not.toEqual(first);
  });

  it('are rotated by an administrator: the next one signs in an hour and ends nothing, or at once and ends all tokens', async () => {
    let now = 1_000_000_000_000;
    const bucket = await bus.keyValue<string>(authorizationBuckets.keys);
    const open = (): Promise<SigningKeys> =>
      SigningKeys.open({ bucket, secrets: new Secrets([key]), changed: () => undefined, now: () => now });
    const [one, other] = [await open(), await open()];
    onTestFinished(() => [one, other].forEach((each) => each.close()));
    const [first] = one.all;
    now += 2 * 3_600_000;
    await one.rotate(false);
    await expect.poll(() => other.states.map(({ state }) => state)).toEqual(['next', 'signing']);
    expect(other.all[0]).toEqual(first);
    expect(other.states[0]?.at).toBe(new Date(now + 3_600_000).toISOString());
    now += 3_600_000;
    expect(one.states.map(({ state }) => state)).toEqual(['signing', 'kept']);
    expect(one.states[1]?.at).toBe(new Date(now + 24 * 3_600_000).toISOString());
    const second = one.all[0];
    await other.rotate(true);
    await expect.poll(() => one.states.map(({ state }) => state)).toEqual(['signing']);
    expect([first, second]).not.toContainEqual(one.all[0]);
    expect(one.states[0]?.created).toBe(new Date(now).toISOString());
    await one.renew();
    expect(one.all).toHaveLength(1);
  });

  it('are made once when two edges are asked for the next one at the same time, also where an edge has not heard of it', async () => {
    const now = 1_000_000_000_000;
    const bucket = await bus.keyValue<string>(authorizationBuckets.keys);
    const open = (): Promise<SigningKeys> =>
      SigningKeys.open({ bucket, secrets: new Secrets([key]), changed: () => undefined, now: () => now });
    const one = await open();
    vi.spyOn(bucket, 'watch').mockResolvedValue({ close: () => undefined } as never);
    const other = await open();
    onTestFinished(() => [one, other].forEach((each) => each.close()));
    await one.rotate(false);
    await expect(other.rotate(false)).rejects.toThrow(/^the next key is published already, and signs from 2001-/);
    await expect(one.rotate(false)).rejects.toMatchObject({ kind: 'conflict' });
    expect(one.states.map(({ state }) => state)).toEqual(['next', 'signing']);
  });

  it('stay in use where those that follow are encrypted with a sealing key that is not there yet, and are not overwritten from there', async () => {
    let now = 1_000_000_000_000;
    const bucket = await bus.keyValue<string>(authorizationBuckets.keys);
    const open = (secrets: Secrets): Promise<SigningKeys> =>
      SigningKeys.open({ bucket, secrets, changed: () => undefined, now: () => now });
    const later = new Secrets([randomBytes(32), key]);
    const [before, after] = [await open(new Secrets([key])), await open(later)];
    onTestFinished(() => [before, after].forEach((each) => each.close()));
    const kidsOf = ({ all }: SigningKeys): string[] => all.map(({ kid }) => kid);
    const first = kidsOf(before);
    now += 31 * 86_400_000;
    await after.renew();
    await before.renew();
    expect([kidsOf(before), kidsOf(after)]).toEqual([first, [...first, expect.anything()]]);
    const restarted = await open(later);
    onTestFinished(() => restarted.close());
    expect(kidsOf(restarted)).toEqual(kidsOf(after));
  });

  it('do not need an older sealing key any more some time after the start', async () => {
    const bucket = await bus.keyValue<string>(authorizationBuckets.keys);
    const open = async (secrets: Secrets): Promise<SigningKeys> => {
      const keys = await SigningKeys.open({ bucket, secrets, changed: () => undefined });
      onTestFinished(() => keys.close());
      return keys;
    };
    const added = randomBytes(32);
    const [before, after] = [await open(new Secrets([key])), await open(new Secrets([added, key]))];
    const sealed = (await bucket.get('ring'))?.value as string;
    expect(new Secrets([key]).isUpToDate('omnibus-oauth-keys ring', sealed)).toBe(true);
    await after.renew();
    expect((await open(new Secrets([added]))).all).toEqual(before.all);
    const written = (await bucket.get('ring'))?.revision;
    await after.renew();
    expect((await bucket.get('ring'))?.revision).toBe(written);
  });
});
