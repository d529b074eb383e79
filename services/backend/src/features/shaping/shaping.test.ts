/** A server with shaped tools: its record for clients, and its calls. */
import { expect, it } from 'vitest';
import type { JsonObject, SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest } from '../../adapter-under-test.ts';

const session = 'session' as SessionKey;
const issues = (properties: JsonObject): JsonObject => ({
  name: 'issues',
  description: 'server',
  inputSchema: { type: 'object', properties, required: Object.keys(properties) },
});
const settings = {
  tools: {
    issues: {
      title: 'Issues',
      description: 'operator',
      annotations: { readOnlyHint: true },
      arguments: { owner: { fixed: 'acme' }, repo: { name: 'project' } },
    },
  },
};
const wanted = { owner: { type: 'string' }, repo: { type: 'string' } };

it('clients see the shape, and the server gets its own names and the fixed values', async () => {
  await using it = await AdapterUnderTest.start(
    { says: ({ method }) => (method === 'tools/list' ? { result: { tools: [issues(wanted)] } } : undefined) },
    { ...settings, validation: 'enforce' },
  );
  await it.adapter.firstAttempt;
  expect(it.record.lists.tools).toEqual([
    {
      name: 'issues',
      title: 'Issues',
      description: 'operator',
      annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', properties: { project: { type: 'string' } }, required: ['project'] },
    },
  ]);
  const call = (given: JsonObject) => it.call(session, 'tools/call', { name: 'issues', arguments: given });
  expect(await call({ project: 'bus' })).toMatchObject({ kind: 'result' });
  expect(it.heard.values.at(-1)?.params).toMatchObject({ arguments: { owner: 'acme', repo: 'bus' } });
  // The arguments of clients are held against the schema of clients.
  expect(JSON.stringify(await call({ project: 1 }))).toContain('project');
  expect(JSON.stringify(await call({ project: 'bus', owner: 'evil' }))).toContain(
    '\\"owner\\" is no argument of this tool; it has \\"project\\". The tool was not called.',
  );
  // A server may read names of arguments loosely.
  for (const name of ['OWNER', 'own_er'])
    expect(JSON.stringify(await call({ project: 'bus', [name]: 'evil' }))).toContain(`\\"${name}\\" is no argument`);
  expect(it.count('tools/call')).toBe(1);
});

it('a tool that its shape does not fit any more is left out with the reason, and comes back', async () => {
  let properties: JsonObject = wanted;
  await using it = await AdapterUnderTest.start(
    {
      says: ({ method }) =>
        method === 'tools/list'
          ? { result: { tools: [issues(properties), { name: 'other', inputSchema: { type: 'object' } }] } }
          : undefined,
    },
    { ...settings, rereadLists: '0s' },
  );
  await it.adapter.firstAttempt;
  expect(it.tools).toEqual(['issues', 'other']);
  properties = { repo: { type: 'string' } };
  await it.adapter.calls.refreshTools();
  expect(it.tools).toEqual(['other']);
  expect(it.record).toMatchObject({
    leftOut: 1,
    unfit: [{ kind: 'tools', name: 'issues', problem: expect.stringContaining('has no argument "owner"') as string }],
  });
  properties = wanted;
  await it.adapter.calls.refreshTools();
  expect(it.tools).toEqual(['issues', 'other']);
  expect(it.record.unfit).toBeUndefined();
});

it('a caller without the fact that an argument needs is refused, and the server hears nothing', async () => {
  await using it = await AdapterUnderTest.start(
    { says: ({ method }) => (method === 'tools/list' ? { result: { tools: [issues(wanted)] } } : undefined) },
    { tools: { issues: { arguments: { owner: { default: '{principal.tenant}' } } } } },
  );
  await it.adapter.firstAttempt;
  expect(await it.call(session, 'tools/call', { name: 'issues', arguments: { repo: 'bus' } })).toMatchObject({
    kind: 'fault',
    fault: { reason: 'upstream.caller_fact', data: { fact: 'tenant' } },
  });
  expect(it.count('tools/call')).toBe(0);
});
