/** Shaped tools in the running gateway: clients of every revision and both official SDKs, rules, search and scripts, in both shapes. */
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientTwo, StreamableHTTPClientTransport as TransportTwo } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StandInIssuer } from '@omnibus/identity/testing';
import type { JsonObject } from '@omnibus/protocol';
import { shapes } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const info = { name: 'test', version: '1.0.0' };
const plain = { type: 'string' };
/** As the server lists it. */
const search = {
  name: 'search',
  description: 'Search. Parameters: org, q.',
  annotations: { destructiveHint: true, openWorldHint: true },
  inputSchema: { type: 'object', properties: { org: plain, q: plain, team: plain }, required: ['org', 'q', 'team'] },
};
const settings = {
  search: {
    title: 'Search issues',
    description: 'Finds issues of our team.',
    annotations: { readOnlyHint: true, destructiveHint: false },
    arguments: {
      org: { fixed: 'acme' },
      q: { name: 'query', description: 'Words to find.' },
      team: { default: '{principal.claims.team}' },
    },
  },
  broken: { arguments: { gone: { fixed: 1 } } },
};
const shown = {
  title: 'Search issues',
  description: 'Finds issues of our team.',
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
  inputSchema: {
    type: 'object',
    properties: { query: { ...plain, description: 'Words to find.' }, team: plain },
    required: ['query'],
  },
};
const twice = expect.objectContaining({ name: 'twice' }) as unknown;
const textsOf = (result: unknown): string =>
  (result as { readonly content: readonly { readonly text: string }[] }).content.map((part) => part.text).join(' ');
const calls = (given: JsonObject, name = 'search'): JsonObject => ({ name, arguments: given });
const sent = '{"q":"bus","org":"acme","team":"core"}';

describe.each(shapes)('%s', (shape) => {
  const stack = new AsyncDisposableStack();
  let url: string;
  let admin: string;
  /** Of a caller with the claim. */
  let headers: Readonly<Record<string, string>>;
  let keys: Keys;

  beforeAll(async () => {
    const upstream = await Upstream.start({
      tools: [search, tool('broken'), tool('delete')],
      onCall: (call) =>
        call.args['q'] === 'fail'
          ? call.answer({ ...text('q and org do not go together'), isError: true })
          : call.answer(text(JSON.stringify(call.args))),
    });
    stack.defer(() => upstream.stop());
    const issuer = stack.use(await StandInIssuer.start());
    keys = stack.use(await Keys.make('robot'));
    const gateway = stack.use(
      await startGatewayHere(shape, {
        publicUrl: 'http://gateway.example',
        auth: {
          ...keys.auth,
          audience: ['http://gateway.example/mcp'],
          issuers: [{ issuer: issuer.issuer, claims: ['team'] }],
        },
        access: {
          rules: [
            { id: 'no-secrets', who: 'everyone', deny: ['desk/search'], when: 'args.query == "secret"' },
            { id: 'broken', who: 'everyone', allow: ['desk/broken'] },
            { id: 'reads', who: 'everyone', allow: ['desk/*'], only: ['readOnly'] },
          ],
        },
        composites: {
          twice: {
            description: 'Searches, and searches for the query that was found.',
            inputSchema: { type: 'object', properties: { words: plain }, required: ['words'] },
            steps: [
              { id: 'first', call: 'desk/search', arguments: { query: '{args.words}' } },
              { id: 'second', call: 'desk/search', arguments: { query: 'again {steps.first.q}' } },
            ],
            result: { teams: ['{steps.first.team}', '{steps.second.team}'], last: '{steps.second.q}' },
          },
        },
        profiles: { found: { listing: 'search' }, coded: { listing: 'code' } },
        mcpServers: { desk: { url: upstream.url, tools: settings } },
      }),
    );
    ({ url } = gateway);
    admin = await gateway.admin(gateway.backend);
    headers = {
      authorization: `Bearer ${await issuer.token({ sub: 'ada', team: 'core', aud: 'http://gateway.example/mcp' })}`,
    };
    using waiting = await RawClient.open(url, '2025-11-25', headers);
    await waiting.untilTools((names) => names.includes('search'));
  });
  afterAll(() => stack.disposeAsync());

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    'a client of %s sees the shape, and the server gets its own arguments',
    async (revision) => {
      using client = await RawClient.open(url, revision, headers);
      const { last } = await client.request('tools/list');
      // The hint of the operator makes the rule allow it; no other tool has one.
      expect(last.result?.['tools']).toEqual([twice, { name: 'search', ...shown }]);
      expect(textsOf((await client.request('tools/call', calls({ query: 'bus' }))).last.result)).toBe(sent);
    },
  );

  it('a client of 2026-07-28 sees the shape, and the server gets its own arguments', async () => {
    const client = new ModernClient(url, {}, headers);
    const { last } = await client.request('tools/list');
    expect(last.result?.['tools']).toEqual([twice, { name: 'search', ...shown }]);
    expect(textsOf((await client.request('tools/call', calls({ query: 'bus' }))).last.result)).toBe(sent);
  });

  it('SDK 1.x and 2.x see the shape and call it', async () => {
    const one = new ClientOne(info);
    await one.connect(new TransportOne(new URL(url), { requestInit: { headers } }));
    expect((await one.listTools()).tools[1]).toMatchObject(shown);
    const both = await one.callTool(calls({ words: 'bus' }, 'twice') as never);
    expect(both.structuredContent).toEqual({ teams: ['core', 'core'], last: 'again bus' });
    expect(textsOf(await one.callTool(calls({ query: 'bus' }) as never))).toBe(sent);
    await one.close();
    const two = new ClientTwo(info, { versionNegotiation: { mode: 'auto' } });
    await two.connect(new TransportTwo(new URL(url), { requestInit: { headers } }));
    expect((await two.listTools()).tools[1]).toMatchObject(shown);
    const second = await two.callTool(calls({ words: 'bus' }, 'twice') as never);
    expect(second.structuredContent).toEqual({ teams: ['core', 'core'], last: 'again bus' });
    expect(textsOf(await two.callTool(calls({ query: 'bus', team: 'ops' }) as never))).toBe(
      '{"q":"bus","team":"ops","org":"acme"}',
    );
    await two.close();
  });

  it('rules decide by the names of clients, and errors say which arguments they mean', async () => {
    const client = new ModernClient(url, {}, headers);
    const call = async (given: JsonObject) => (await client.request('tools/call', calls(given))).last;
    expect((await call({ query: 'secret' })).error?.message).toContain('no-secrets');
    expect(textsOf((await call({ query: 'bus', q: 'secret' })).result)).toContain('"q" is no argument of this tool');
    expect(textsOf((await call({ query: 'fail' })).result)).toBe(
      'q and org do not go together Names in this error: the gateway sets "org"; "q" is the argument "query".',
    );
  });

  it('a caller without the claim is refused, unless it sends the argument', async () => {
    const client = new ModernClient(url, {}, keys.headersOf('robot'));
    expect((await client.request('tools/call', calls({ query: 'bus' }))).last.error).toMatchObject({
      data: { reason: 'upstream.caller_fact', server: 'desk', fact: 'claims.team' },
    });
    expect(textsOf((await client.request('tools/call', calls({ query: 'bus', team: 'x' }))).last.result)).toContain(
      '"x"',
    );
  });

  it('search and scripts see the shape', async () => {
    const found = new ModernClient(`${url}/found`, {}, headers);
    const asked = await found.request('tools/call', calls({ query: 'issues of our team' }, 'find_tools'));
    expect(textsOf(asked.last.result)).toContain('search(query*, team)');
    const coded = new ModernClient(`${url}/coded`, {}, headers);
    const code = `return await servers.desk.search({ query: 'bus' });`;
    expect(JSON.parse(textsOf((await coded.request('tools/call', calls({ code }, 'run_code'))).last.result))).toEqual(
      JSON.parse(sent),
    );
  });

  it('a composite tool of shaped tools names the step that a rule refuses', async () => {
    const client = new ModernClient(url, {}, headers);
    const { result } = (await client.request('tools/call', calls({ words: 'secret' }, 'twice'))).last;
    expect(textsOf(result)).toMatch(/^The step "first" \(desk\/search\) has failed: .*no-secrets/);
    const over = await client.request('tools/call', calls({ words: 'bus' }, 'twice'));
    expect(JSON.parse(textsOf(over.last.result))).toEqual({ teams: ['core', 'core'], last: 'again bus' });
  });

  it('a tool that its shape does not fit is away, with the reason for clients and operators', async () => {
    const client = new ModernClient(url, {}, headers);
    const { error } = (await client.request('tools/call', calls({}, 'broken'))).last;
    expect(error?.message).toContain('has no argument "gone"');
    const status = (await (await fetch(`http://${admin}/status`)).json()) as JsonObject;
    expect(JSON.stringify(status)).toContain(`has no argument \\"gone\\"`);
  });
});
