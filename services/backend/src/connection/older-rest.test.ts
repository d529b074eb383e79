/** The circuit of a server of both eras opens on its connection of the older one. */
import { expect, it } from 'vitest';
import { newRequestKey, type SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest } from '../adapter-under-test.ts';

const newSession = (): SessionKey => newRequestKey() as string as SessionKey;
const act = { name: 'act', arguments: {} };

it('a call that goes on over the shared connection of the older era gets its answer, and later ones are taken again', async () => {
  const answer = Promise.withResolvers<void>();
  let isBroken = false;
  await using up = await AdapterUnderTest.start({
    hasSessions: false,
    async says({ method, params }, response) {
      if (method === 'server/discover')
        return { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } };
      if (method !== 'tools/call') return undefined;
      if (params?.['name'] === 'slow') await answer.promise;
      else if (isBroken) response.writeHead(500).end();
      return undefined;
    },
  });
  expect(await up.call(newSession(), 'tools/call', act)).toMatchObject({ kind: 'result' });
  const slow = up.call(newSession(), 'tools/call', { ...act, name: 'slow' });
  await up.heard.untilSome(({ params }) => params?.['name'] === 'slow');
  expect(up.count('initialize')).toBe(1);
  isBroken = true;
  for (let count = 0; count < 5; count += 1)
    expect(await up.call(newSession(), 'tools/call', act)).toMatchObject({
      kind: 'fault',
      fault: { reason: 'upstream.refused' },
    });
  isBroken = false;
  answer.resolve();
  expect(await slow).toMatchObject({ kind: 'result', result: { content: [{ text: 'done' }] } });
  await expect.poll(() => up.call(newSession(), 'tools/call', act)).toMatchObject({ kind: 'result' });
});
