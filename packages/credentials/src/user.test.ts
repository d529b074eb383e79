/** Tokens of users in several processes with one store, and an issuer that accepts a refresh token once and revokes everything at its second use. */
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Connection } from './sign-in.ts';
import { ground, invalid, issuer, place, url } from './user-under-test.ts';

it('a token that is over is refreshed once, whichever of three replicas is asked first, and all use what was got', async () => {
  const { strict, replica } = await ground(Date.now());
  const replicas = [1, 2, 3].map(replica);
  const shown = await Promise.all(replicas.flatMap((each) => [each.ask(), each.ask()]));
  expect(strict.asked).toEqual(['refresh-0']);
  expect(new Set(shown.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer access-1']));
});

it('a token that is refused before its time is refreshed once by all that meet that, and their requests are worth repeating', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const replicas = [1, 2, 3].map(replica);
  const sent = await Promise.all(replicas.map((each) => each.ask()));
  expect(await Promise.all(replicas.map((each, index) => each.refused(sent[index] ?? {}, invalid)))).toEqual([
    true,
    true,
    true,
  ]);
  expect(strict.asked).toEqual(['refresh-0']);
  expect(await replicas[0]?.ask()).toEqual({ authorization: 'Bearer access-1' });
});

it('what was got for a refresh token is kept although the vault takes another key in between: the refresh token before is good no more', async () => {
  const { strict, vault, replica } = await ground(Date.now());
  strict.meanwhile = () => vault.rotate('b');
  expect(await replica().ask()).toEqual({ authorization: 'Bearer access-1' });
  expect(strict.asked).toEqual(['refresh-0']);
  expect((await vault.get<Connection>(place))?.value.tokens?.refreshToken).toBe('refresh-1');
});

it('what was got for a refresh token while the store cannot be reached is used, and stored when it is back: nobody signs in anew', async () => {
  const { strict, vault, store, replica } = await ground(Date.now());
  strict.meanwhile = () => {
    store.isAway = true;
    return Promise.resolve();
  };
  const [one, other] = [replica(), replica()];
  expect(await one.ask()).toEqual({ authorization: 'Bearer access-1' });
  store.isAway = false;
  strict.meanwhile = () => Promise.resolve();
  await expect.poll(async () => (await vault.get<Connection>(place))?.value.tokens?.refreshToken).toBe('refresh-1');
  expect(await other.ask()).toEqual({ authorization: 'Bearer access-1' });
  expect(strict.asked).toEqual(['refresh-0']);
});

it('two requests of one process that are refused at the same time refresh once, and both are worth repeating', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const one = replica();
  const sent = await one.ask();
  expect(await Promise.all([one.refused(sent, invalid), one.refused(sent, invalid)])).toEqual([true, true]);
  expect(strict.asked).toEqual(['refresh-0']);
  expect(await one.ask()).toEqual({ authorization: 'Bearer access-1' });
});

it('a request that was refused during a refresh does not wait for it when it has ended meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const one = replica();
  const sent = await one.ask();
  const [looking, refreshed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let second: Promise<boolean> | undefined;
  // The second request reads the record while the first one refreshes, and the metadata of the server after that.
  strict.meanwhile = async () => {
    strict.looking = () => {
      looking.resolve();
      return refreshed.promise;
    };
    second = one.refused(sent, invalid);
    await looking.promise;
  };
  expect(await one.refused(sent, invalid)).toBe(true);
  await setImmediate();
  refreshed.resolve();
  expect(await second).toBe(true);
  expect(strict.asked).toEqual(['refresh-0']);
});

it('a request that begins during a refresh does not bring back the token before', async () => {
  const { strict, store, at } = await ground(Date.now() + 3_600_000);
  const one = at(url);
  const sent = await one.ask();
  const read = Promise.withResolvers<void>();
  let meanwhile: Promise<unknown> | undefined;
  strict.meanwhile = async () => {
    store.held = read.promise;
    meanwhile = one.ask();
    // It has read the record, and learns so only after the refresh.
    await setImmediate();
    store.held = undefined;
  };
  expect(await one.refused(sent, invalid)).toBe(true);
  read.resolve();
  await meanwhile;
  expect(await one.ask()).toEqual({ authorization: 'Bearer access-1' });
});

it('a change that is noticed at the very moment a refresh ends does not bring back the token before', async () => {
  for (let hops = 0; hops < 24; hops += 1) {
    const { strict, store, at } = await ground(Date.now() + 3_600_000);
    const one = at(url);
    const sent = await one.ask();
    const read = Promise.withResolvers<void>();
    let noticed: Promise<unknown> | undefined;
    strict.meanwhile = async () => {
      store.held = read.promise;
      noticed = one.changed();
      await setImmediate();
      store.held = undefined;
      const update = store.update.bind(store);
      // The answers of the store to both arrive in one turn.
      store.update = async (...args) => {
        const revision = await update(...args);
        let last = Promise.resolve();
        for (let hop = 0; hop < hops; hop += 1) last = last.then(() => undefined);
        void last.then(read.resolve);
        return revision;
      };
    };
    expect(await one.refused(sent, invalid)).toBe(true);
    await noticed;
    expect([hops, one.current]).toEqual([hops, { authorization: 'Bearer access-1' }]);
  }
});

it('who has revoked what he allowed is shown as nobody, and asked to sign in again', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  strict.isRevoked = true;
  const one = replica();
  expect(await one.refused(await one.ask(), invalid)).toBe(false);
  expect(one.wanted).toEqual(invalid);
  expect(await one.ask()).toEqual({});
  expect(await replica().ask()).toEqual({});
});

it('a server that now trusts another issuer gets no token of the earlier one, and the refresh token of that one goes nowhere', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  strict.trusted = 'https://other.example';
  const one = replica();
  expect(await one.refused(await one.ask(), invalid)).toBe(false);
  expect(strict.asked).toEqual([]);
  expect(await one.ask()).toEqual({});
});

it.each([403, 404, 429, 502, 503])(
  'where the documents of a server are answered with HTTP %i, it has not moved: what its user has is refreshed',
  async (status) => {
    const { strict, replica } = await ground(Date.now() + 3_600_000);
    strict.status = status;
    const one = replica();
    expect(await one.refused(await one.ask(), invalid)).toBe(true);
    expect(await one.ask()).toEqual({ authorization: 'Bearer access-1' });
  },
);

it.each([
  ['good', 3_600_000],
  ['to be refreshed', 0],
])(
  'what was connected to one server, and is %s, is nothing for another that has its name by now',
  async (_state, lifeMs) => {
    const { strict, at } = await ground(Date.now() + lifeMs);
    const other = at('https://other.example/mcp');
    expect(await other.ask()).toEqual({});
    expect(await other.refused({}, invalid)).toBe(false);
    expect(await other.changed()).toBe('same');
    expect([await other.ask(), strict.asked]).toEqual([{}, []]);
  },
);

it('more rights are asked for once: what was asked for before and is not enough is not asked for again', async () => {
  const { replica } = await ground(Date.now() + 3_600_000);
  const one = replica();
  const sent = await one.ask();
  expect(await one.refused(sent, { ...invalid, error: 'insufficient_scope', scope: 'read' })).toBe(false);
  expect([one.wanted, one.lacking]).toMatchObject([undefined, { scope: 'read' }]);
  expect(await one.refused(sent, { ...invalid, error: 'insufficient_scope', scope: 'write' })).toBe(false);
  expect([one.wanted, one.lacking]).toMatchObject([{ scope: 'write' }, undefined]);
  // The token stays valid for its scopes.
  expect(await one.ask()).toEqual({ authorization: 'Bearer access-0' });
});

it('what somebody has signed in for elsewhere is taken up, and is what was missing', async () => {
  const { vault, at } = await ground(Date.now() + 3_600_000);
  const kept = await vault.get<Connection>(place);
  await vault.remove(place);
  const one = at(url);
  expect(await one.refused(await one.ask(), invalid)).toBe(false);
  await vault.put(place, issuer, kept?.value);
  expect(await one.changed()).toBe('new');
  expect([one.wanted, await one.ask()]).toEqual([undefined, { authorization: 'Bearer access-0' }]);
});

it('a sign-in elsewhere that a refused request finds before it is announced is said to be found when it is announced: no sign-in is wanted after that', async () => {
  const { vault, at } = await ground(Date.now() + 3_600_000);
  const kept = await vault.get<Connection>(place);
  await vault.remove(place);
  const one = at(url);
  const sent = await one.ask();
  expect(await one.refused(sent, invalid)).toBe(false);
  await vault.put(place, issuer, kept?.value);
  expect(await one.refused(sent, invalid)).toBe(true);
  expect([await one.changed(), one.wanted, await one.changed()]).toEqual(['found', undefined, 'same']);
});

it('a sign-in that comes while a refusal is looked at is not overlooked, nor one that comes while it is looked for the first time', async () => {
  for (const first of [true, false]) {
    const { vault, store, at } = await ground(Date.now() + 3_600_000);
    const kept = await vault.get<Connection>(place);
    await vault.remove(place);
    const one = at(url);
    if (!first) await one.ask();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.held = promise;
    const looked = first ? one.ask() : one.refused({}, invalid);
    store.held = undefined;
    await vault.put(place, issuer, kept?.value);
    await one.changed();
    resolve();
    expect(await looked).toEqual(first ? { authorization: 'Bearer access-0' } : true);
    expect([one.wanted, await one.ask()]).toEqual([undefined, { authorization: 'Bearer access-0' }]);
  }
});

it('whoever waits for another who was to refresh and is gone refreshes when his time is over', async () => {
  const { strict, vault, at } = await ground(Date.now());
  const kept = await vault.get<Connection>(place);
  await vault.put(place, issuer, {
    ...kept?.value,
    refreshing: { by: 'somebody who is gone', until: Date.now() + 100 },
  });
  expect(await at(url).ask()).toEqual({ authorization: 'Bearer access-1' });
  expect(strict.asked).toEqual(['refresh-0']);
});

it('what somebody has ended is shown no more by whoever has shown it', async () => {
  const { vault, at } = await ground(Date.now() + 3_600_000);
  const one = at(url);
  expect(await one.ask()).toEqual({ authorization: 'Bearer access-0' });
  await vault.remove(place);
  expect([await one.changed(), await one.ask()]).toEqual(['gone', {}]);
});

it('what could not be read after it was changed is used no more, and what it was tells the change once it can be read', async () => {
  const { vault, store, at } = await ground(Date.now() + 3_600_000);
  const kept = await vault.get<Connection>(place);
  const one = at(url);
  await one.ask();
  await vault.remove(place);
  store.isUnreadable = true;
  await expect(one.changed()).rejects.toThrow('cannot be read');
  await expect(one.ask()).rejects.toThrow('cannot be read');
  store.isUnreadable = false;
  expect([await one.changed(), await one.ask()]).toEqual(['gone', {}]);
  await vault.put(place, issuer, kept?.value);
  store.isUnreadable = true;
  await expect(one.changed()).rejects.toThrow('cannot be read');
  store.isUnreadable = false;
  expect([await one.changed(), await one.ask()]).toEqual(['new', { authorization: 'Bearer access-0' }]);
});

it('tokens that come after their connection was removed are revoked, and those of one that was replaced are not', async () => {
  const [replaced, removed] = [await ground(Date.now()), await ground(Date.now())];
  const kept = await replaced.vault.get<Connection>(place);
  const tokens = { accessToken: 'new', expiresAt: Date.now() + 3_600_000, refreshToken: 'refresh', scope: undefined };
  replaced.strict.meanwhile = () => replaced.vault.put(place, issuer, { ...kept?.value, tokens });
  expect(await replaced.at(url).ask()).toEqual({ authorization: 'Bearer new' });
  removed.strict.meanwhile = () => removed.vault.take(place);
  expect(await removed.at(url).ask()).toEqual({});
  await expect.poll(() => removed.strict.revoked).toEqual(['refresh-1']);
  expect([replaced.strict.asked, replaced.strict.revoked]).toEqual([['refresh-0'], []]);
});
