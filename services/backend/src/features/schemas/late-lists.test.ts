/** Calls that come before their server's tools are known, as after a restart of a backend worker. */
import { newRequestKey } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { AdapterUnderTest, toolNamed } from '../../adapter-under-test.ts';

it('the result of a call that came before the first list is checked against the output schema in that list', async () => {
  const called = Promise.withResolvers<void>();
  const listed = Promise.withResolvers<void>();
  const schema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
  await using it = await AdapterUnderTest.start(
    {
      says: async ({ method }) => {
        if (method === 'tools/list') {
          await called.promise;
          return { result: { tools: [{ ...toolNamed('act'), outputSchema: schema }] } };
        }
        if (method !== 'tools/call') return undefined;
        called.resolve();
        await listed.promise;
        return { result: { content: [], structuredContent: { sum: 'many' } } };
      },
    },
    { validation: 'enforce' },
  );
  const outcome = it.call(newRequestKey(), 'tools/call', { name: 'act', arguments: {} });
  await it.adapter.firstAttempt;
  expect(it.tools).toEqual(['act']);
  listed.resolve();
  expect(await outcome).toMatchObject({ kind: 'fault', fault: { reason: 'upstream.invalid' } });
});
