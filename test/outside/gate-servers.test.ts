/** Messages of servers that are invalid or nearly so: they do not affect others, and are passed on unchanged where nothing is computed from them. */
import { expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

it('a server with an endlessly nested schema and a template of ten expansions delays no other', async () => {
  await using bad = await Upstream.start({
    tools: [{ ...tool('deep'), inputSchema: nested(3_000) as JsonObject }],
    resources: [],
    onRequest: ({ method }) =>
      method === 'resources/templates/list'
        ? { resourceTemplates: [{ name: 't', uriTemplate: `x${'{+a}'.repeat(10)}!{b}` }] }
        : undefined,
  });
  await using good = await Upstream.start();
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { bad: { url: bad.url, restart: { minDelay: '20ms' } }, good: { url: good.url } },
  });
  const client = await RawClient.open(gateway.url);
  expect(await client.untilTools((names) => names.includes('good__echo'))).not.toContain('bad__deep');
  // A backtracking match would take minutes here and block all other requests.
  expect((await client.request('resources/read', { uri: 'x'.repeat(70) })).status).toBe(200);
  expect((await client.callTool('good__echo', { still: 'there' })).body).toContain('still');
});

it('a result of an unknown shape passes unchanged, and one that is too deep or no object is answered upstream.invalid', async () => {
  const odd: readonly JsonObject[] = [
    {},
    { content: 'text' },
    {
      content: [null, 7, { type: 'new-in-2030' }, { type: 'resource', resource: 5 }, { type: 'resource_link', uri: 7 }],
    },
    { content: {}, structuredContent: 'x', isError: 'yes' },
    { contents: [], _meta: { a: 1 }, unknown: nested(50) },
  ];
  const results: unknown[] = [...odd, { deep: nested(2_000) }, 'text', ['list'], null];
  let turn = 0;
  await using upstream = await Upstream.start({ onCall: (call) => call.answer(results[turn] as JsonObject) });
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { up: { url: upstream.url } },
  });
  const client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('echo'));
  for (; turn < results.length; turn += 1) {
    const { last } = await client.callTool('echo');
    if (turn < odd.length) expect(last.result).toEqual(odd[turn]);
    else expect(last.error?.data).toMatchObject({ reason: 'upstream.invalid', server: 'up' });
  }
});
