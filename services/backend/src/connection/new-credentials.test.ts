/** Calls and connections of a user at the moment when the user's new credentials are announced. */
import { expect, it } from 'vitest';
import type { Principal, SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, type HeardByServer } from '../adapter-under-test.ts';
import { noIdentities, type ServerIdentities } from '../feature.ts';

const ann = 'p_ann' as Principal;
const session = 'session one' as unknown as SessionKey;

const identities = (of: 'user' | 'all', isInUse: boolean): ServerIdentities => ({
  ...noIdentities,
  own: of === 'all' ? undefined : { of: () => ({ headers: undefined, credentials: () => undefined, mark: '' }) },
  changed: () => Promise.resolve({ of, isInUse }),
});

/** A server that holds one message back. */
async function start(
  isHeld: (message: HeardByServer, test: AdapterUnderTest) => boolean,
  of: 'user' | 'all',
  isInUse: boolean,
): Promise<{ readonly test: AdapterUnderTest; readonly held: Promise<void>; readonly release: () => void }> {
  const [arrived, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const test: AdapterUnderTest = await AdapterUnderTest.start(
    {
      says: async (message) => {
        if (!isHeld(message, test)) return undefined;
        arrived.resolve();
        await answered.promise;
        return undefined;
      },
    },
    of === 'all' ? { isolation: 'shared' } : {},
    undefined,
    undefined,
    { identities: identities(of, isInUse) },
  );
  await test.adapter.firstAttempt;
  return { test, held: arrived.promise, release: answered.resolve };
}

it.each([
  ['user', true, 'result'],
  ['all', true, 'result'],
  ['user', false, 'fault'],
  ['all', false, 'fault'],
] as const)(
  'a running call over a connection (of: %s) that uses the credentials already (%s) ends with a %s',
  async (of, isInUse, kind) => {
    const { test, held, release } = await start(({ method }) => method === 'tools/call', of, isInUse);
    await using up = test;
    const call = up.call(session, 'tools/call', { name: 'act', arguments: {} }, { principal: ann });
    await held;
    const before = up.count('initialize');
    await up.adapter.credentialsChanged(ann);
    release();
    expect(await call).toMatchObject({ kind });
    await expect.poll(() => up.count('initialize')).toBe(isInUse ? before : before + 1);
  },
);

it('a call that waits for the handshake of a connection with the credentials is served', async () => {
  const { test, held, release } = await start(
    ({ method }, { heard }) =>
      method === 'initialize' && heard.values.filter((each) => each.method === method).length > 1,
    'user',
    true,
  );
  await using up = test;
  const call = up.call(session, 'tools/call', { name: 'act', arguments: {} }, { principal: ann });
  await held;
  await up.adapter.credentialsChanged(ann);
  release();
  expect(await call).toMatchObject({ kind: 'result' });
});
