/** Lists of a server by the capabilities of clients: read for each set, over connections that declare it. */
import { expect, it } from 'vitest';
import {
  anonymous,
  latestModernRevision,
  metaKeys,
  newRequestKey,
  type JsonObject,
  type OfferCaller,
} from '@omnibus/protocol';
import { AdapterUnderTest, toolNamed, type ServerScript } from '../adapter-under-test.ts';

const client = (capabilities: JsonObject, standsAlone = false): OfferCaller => ({
  principal: anonymous,
  session: newRequestKey(),
  standsAlone,
  capabilities,
});

/** A server with sessions, which has a tool more for each capability its client declares, and says so of itself. */
function particular(more: () => readonly JsonObject[] = () => []): ServerScript {
  const declared = new Map<string, JsonObject>();
  let sessions = 0;
  return {
    says: ({ method, params, session }) => {
      if (method === 'initialize') {
        sessions += 1;
        declared.set(`session-${sessions}`, params?.['capabilities'] as JsonObject);
      }
      if (method !== 'tools/list') return undefined;
      const names = Object.keys(declared.get(session ?? '') ?? {});
      return { result: { tools: [toolNamed('act'), ...names.map((name) => toolNamed(`with_${name}`)), ...more()] } };
    },
  };
}

const offered = (it: AdapterUnderTest): Record<string, string[]> =>
  Object.fromEntries(
    (it.record.offers ?? []).map(({ key, lists }) => [
      key,
      (lists.tools?.entries ?? []).map(({ name }) => String(name)),
    ]),
  );

it('clients of different capabilities are offered what is for them, whoever came last, and others see nothing of it', async () => {
  await using it = await AdapterUnderTest.start(particular());
  await it.adapter.firstAttempt;
  it.control({ kind: 'wanted', caller: client({ sampling: {} }) });
  it.control({ kind: 'wanted', caller: client({ elicitation: { form: {} } }) });
  it.control({ kind: 'wanted', caller: client({ sampling: {}, elicitation: {} }) });
  await expect
    .poll(() => offered(it))
    .toEqual({
      sampling: ['with_sampling'],
      'elicitation(form)': ['with_elicitation'],
      'elicitation sampling': ['with_sampling', 'with_elicitation'],
    });
  expect(it.tools).toEqual(['act']);
  expect(it.faults).toEqual([]);
});

it('a set is read once, however many clients declare it, whatever else stands in it', async () => {
  await using it = await AdapterUnderTest.start(particular());
  await it.adapter.firstAttempt;
  it.control({ kind: 'wanted', caller: client({ sampling: {} }) });
  await expect.poll(() => offered(it)).toHaveProperty('sampling');
  const before = it.count('tools/list');
  for (let each = 0; each < 20; each += 1)
    it.control({ kind: 'wanted', caller: client({ sampling: { each }, experimental: { each } }) });
  it.control({ kind: 'wanted', caller: client({ roots: {} }) });
  await expect.poll(() => offered(it)).toHaveProperty('roots');
  expect(it.count('tools/list')).toBe(before + 1);
});

it('that such clients are offered what everybody is, is known too', async () => {
  await using it = await AdapterUnderTest.start({});
  await it.adapter.firstAttempt;
  it.control({ kind: 'wanted', caller: client({ sampling: {} }) });
  await expect.poll(() => it.record.offers).toEqual([{ key: 'sampling', lists: {} }]);
});

it('what everybody is offered later is offered to them too, without another reading', async () => {
  let more: JsonObject[] = [];
  await using it = await AdapterUnderTest.start(
    particular(() => more),
    { rereadLists: '100ms' },
  );
  await it.adapter.firstAttempt;
  it.control({ kind: 'wanted', caller: client({ sampling: {} }) });
  await expect.poll(() => offered(it)).toEqual({ sampling: ['with_sampling'] });
  more = [toolNamed('new')];
  it.control({ kind: 'wanted' });
  await expect.poll(() => it.tools).toEqual(['act', 'new']);
  expect(offered(it)).toEqual({ sampling: ['with_sampling'] });
});

it('a server of an older revision is told of an extension, once for all clients that declare it with the same settings', async () => {
  const declared: JsonObject[] = [];
  await using it = await AdapterUnderTest.start({
    says: ({ method, params, session }) => {
      if (method === 'initialize') declared.push(params?.['capabilities'] as JsonObject);
      if (method !== 'tools/list') return undefined;
      const { extensions } = declared[Number(session?.split('-')[1]) - 1] ?? {};
      return { result: { tools: [toolNamed('act'), ...(extensions === undefined ? [] : [toolNamed('chart')])] } };
    },
  });
  await it.adapter.firstAttempt;
  const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } };
  it.control({ kind: 'wanted', caller: client({ extensions: { ...extensions, 'com.example/unknown': {} } }) });
  await expect.poll(() => offered(it)).toEqual({ ' io.modelcontextprotocol/ui': ['chart'] });
  it.control({ kind: 'wanted', caller: client({ extensions }) });
  it.control({ kind: 'wanted', caller: client({ sampling: {}, extensions }) });
  await expect
    .poll(() => offered(it))
    .toEqual({ ' io.modelcontextprotocol/ui': ['chart'], 'sampling io.modelcontextprotocol/ui': ['chart'] });
  expect(declared).toEqual([{}, { extensions }, { sampling: {}, extensions }]);
  expect(it.tools).toEqual(['act']);
});

it('a server of the newest revision is asked with the capabilities of each set, over the connection that serves everybody', async () => {
  await using it = await AdapterUnderTest.start({
    says: ({ method, params }) => {
      if (method === 'server/discover')
        return {
          result: { resultType: 'complete', supportedVersions: [latestModernRevision], capabilities: { tools: {} } },
        };
      if (method === 'initialize') return { error: { code: -32_601, message: 'no such method' } };
      if (method !== 'tools/list') return undefined;
      const declared = Object.keys((params?.['_meta'] as JsonObject)[metaKeys.clientCapabilities] as JsonObject);
      return {
        result: {
          resultType: 'complete',
          tools: [toolNamed('act'), ...declared.map((name) => toolNamed(`with_${name}`))],
        },
      };
    },
  });
  await it.adapter.firstAttempt;
  it.control({ kind: 'wanted', caller: client({ sampling: {} }, true) });
  it.control({ kind: 'wanted', caller: client({ extensions: { 'io.modelcontextprotocol/ui': {} } }, true) });
  await expect.poll(() => Object.values(offered(it)).flat()).toEqual(['with_extensions', 'with_sampling']);
  expect(it.tools).toEqual(['act']);
});

it('there are no more sets than a record can hold, the one nobody asked for longest goes', async () => {
  await using it = await AdapterUnderTest.start(particular(), { maxConnections: 500 });
  await it.adapter.firstAttempt;
  const kinds = [undefined, {}, { form: {} }, { url: {} }, { form: {}, url: {} }];
  const sampling = [undefined, {}, { tools: {} }, { context: {} }, { tools: {}, context: {} }];
  const all = kinds.flatMap((elicitation) =>
    sampling.flatMap((each) => [undefined, {}].map((roots) => ({ elicitation, sampling: each, roots }))),
  );
  for (const set of all) {
    const before = it.count('tools/list');
    it.control({ kind: 'wanted', caller: client(JSON.parse(JSON.stringify(set)) as JsonObject) });
    if (Object.values(set).some((value) => value !== undefined))
      await expect.poll(() => it.count('tools/list')).toBeGreaterThan(before);
  }
  expect(Object.keys(offered(it))).toHaveLength(32);
}, 30_000);

it('clients that declare an extension with ever other settings share few connections', async () => {
  await using it = await AdapterUnderTest.start(particular());
  await it.adapter.firstAttempt;
  const declaring = (n: number): JsonObject => ({ extensions: { 'io.modelcontextprotocol/ui': { n } } });
  it.control({ kind: 'wanted', caller: client(declaring(0)) });
  await expect.poll(() => offered(it)).toEqual({ ' io.modelcontextprotocol/ui': ['with_extensions'] });
  for (let n = 0; n < 30; n += 1)
    expect(await it.call(newRequestKey(), 'tools/call', { name: 'act' }, { capabilities: declaring(n) })).toMatchObject(
      { kind: 'result' },
    );
  expect(it.adapter.load.connections).toBe(8);
});
