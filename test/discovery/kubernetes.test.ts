/** Servers that teams add as objects in Kubernetes, with a stand-in for the API server. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { shapes, type Shape } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { KubernetesApi } from '../support/kubernetes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

/** The servers of these tests are on this machine, which must be allowed for objects of others. */
const config = { discovery: { kubernetes: { enabled: true, namespaces: ['*'], allowedHosts: ['127.0.0.1'] } } };

/** Starts a gateway that finds its servers in a cluster: the client of Kubernetes reads the variables of the process. */
function startFinding(
  shape: Shape,
  settings: object,
  { kubeconfig }: KubernetesApi,
  environment: Readonly<Record<string, string>> = {},
): Promise<GatewayHere> {
  vi.stubEnv('KUBECONFIG', kubeconfig);
  return startGatewayHere(shape, settings, environment);
}

afterEach(() => void vi.unstubAllEnvs());

describe.each(shapes)('servers in Kubernetes, %s', (shape) => {
  it('come, change and go with their objects, through watches that break and versions that are forgotten', async () => {
    await using api = await KubernetesApi.start();
    await using one = await Upstream.start({ tools: [tool('one')], onCall: (call) => call.answer(text('one')) });
    await using two = await Upstream.start({ tools: [tool('two')] });
    await using own = await Upstream.start({ tools: [tool('own')] });
    api.apply('mcpservers', 'team-a', 'first', { url: one.url });
    await using gateway = await startFinding(shape, { ...config, mcpServers: { own: { url: own.url } } }, api);
    using client = await RawClient.open(gateway.url);

    await client.untilTools((names) => names.includes('own__own') && names.includes('team-a_first__one'));
    expect((await client.callTool('team-a_first__one')).last.result).toEqual(text('one'));
    const ready = await api.patches.untilSome(({ status }) => status.conditions[0].status === 'True');
    expect(ready).toMatchObject({
      name: 'first',
      contentType: 'application/merge-patch+json',
      status: {
        tools: 1,
        revision: '2025-11-25',
        conditions: [{ type: 'Ready', reason: 'Connected', observedGeneration: 1 }],
      },
    });

    api.apply('mcpservers', 'team-b', 'second', { url: two.url });
    await client.untilTools((names) => names.includes('team-b_second__two'));

    // A watch that ends is continued from the last version; nothing is listed again.
    const lists = api.listed.values.length;
    const watches = api.watched.values.length;
    api.endWatches();
    api.delete('mcpservers', 'team-b', 'second');
    await client.untilTools((names) => !names.includes('team-b_second__two'));
    expect(api.listed.values.length).toBe(lists);
    expect(
      api.watched.values.slice(watches).some(({ resource, from }) => resource === 'mcpservers' && from > 100),
    ).toBe(true);

    // After an expired version everything is listed again, and servers that were deleted meanwhile are removed.
    await api.watched.until(api.watched.values.length);
    api.compact();
    api.apply('mcpservers', 'team-b', 'third', { url: two.url });
    await client.untilTools((names) => names.includes('team-b_third__two'));
    expect(api.listed.values.length).toBeGreaterThan(lists);

    // With another address it is another server.
    api.apply('mcpservers', 'team-a', 'first', { url: two.url });
    await client.untilTools((names) => names.includes('team-a_first__two') && !names.includes('team-a_first__one'));
  });
});

it('what cannot be a server is said in its status, and takes nothing from the gateway', async () => {
  await using api = await KubernetesApi.start();
  await using own = await Upstream.start({ tools: [tool('own')] });
  api.apply('mcpservers', 'team', 'nonsense', { url: 'nonsense' });
  api.apply('mcpservers', 'team', 'nowhere', { url: 'http://127.0.0.1:65002/mcp' });
  api.apply('mcpservers', 'team', 'thief', { url: own.url, headers: { Authorization: 'Bearer ${GATEWAY_SECRET}' } });
  api.apply('mcpservers', 'team', 'program', { command: 'touch', args: ['/tmp/should-not-be'] });
  api.apply('mcpservers', 'own', 'one', { url: own.url });
  await using gateway = await startFinding('embedded', { ...config, mcpServers: { own_one: { url: own.url } } }, api, {
    GATEWAY_SECRET: 'secret',
  });
  const of = (name: string, reason: string) =>
    api.patches
      .untilSome((patch) => patch.name === name && patch.status.conditions[0].reason === reason)
      .then(({ status }) => status.conditions[0].message);
  expect(await of('nonsense', 'Invalid')).toContain('expected an http://');
  expect(await of('nowhere', 'Unreachable')).not.toBe('');
  expect(await of('thief', 'Invalid')).toContain('GATEWAY_SECRET');
  expect(await of('program', 'Invalid')).toContain('this gateway has no pods made');
  expect(await of('one', 'Invalid')).toContain('the name "own_one" is taken, by the gateway');
  using client = await RawClient.open(gateway.url);
  expect(await client.untilTools((names) => names.length > 0)).toEqual(['own_one__own']);
});

it('an object may pin the definitions of its server, leave tools out, and name the tenants of its server and profile', async () => {
  await using api = await KubernetesApi.start();
  await using wiki = await Upstream.start({ tools: [tool('read'), tool('secret_write')] });
  await using ofOthers = await Upstream.start({ tools: [tool('other')] });
  api.apply('mcpservers', 'team', 'wiki', { url: wiki.url, definitions: 'pin', excludeTools: ['secret_*'] });
  api.apply('mcpservers', 'team', 'private', { url: ofOthers.url, tenants: ['acme'], validation: 'enforce' });
  api.apply('mcpprofiles', 'team', 'open', { servers: ['wiki', 'private'] });
  api.apply('mcpprofiles', 'team', 'closed', { servers: ['wiki'], tenants: ['acme'] });
  await using gateway = await startFinding('embedded', { ...config, prefix: 'always' }, api);
  const ready = new Set<string>();
  await api.patches.untilSome(({ name, status }) => {
    if (status.conditions[0].status === 'True') ready.add(name);
    return ['wiki', 'private', 'open', 'closed'].every((each) => ready.has(each));
  });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.join(' ') === 'team_wiki__read');
  using profile = await RawClient.open(`${gateway.url}/team_open`);
  await profile.untilTools((names) => names.length === 1);
  for (const path of ['team_private', 'team_closed'])
    expect((await new RawClient(`${gateway.url}/${path}`).initialize('2025-11-25')).status, path).toBe(404);
  wiki.tools = [
    { ...tool('read'), inputSchema: { type: 'object', properties: { more: { type: 'string' } } } },
    tool('news'),
  ];
  wiki.notify('notifications/tools/list_changed');
  await client.untilTools((names) => names.length === 0);
  expect((await client.callTool('team_wiki__read')).last).toMatchObject({
    error: { data: { reason: 'definition.held' } },
  });
});

it('a profile selects among the servers of its own namespace, follows them, and is served at an endpoint of its own', async () => {
  await using api = await KubernetesApi.start();
  await using one = await Upstream.start({
    tools: [tool('read'), tool('write')],
    onCall: (call) => call.answer(text(JSON.stringify(call.args))),
  });
  await using other = await Upstream.start({ tools: [tool('other')] });
  api.apply('mcpservers', 'team', 'wiki', { url: one.url });
  api.apply('mcpservers', 'elsewhere', 'secret', { url: other.url });
  api.apply(
    'mcpprofiles',
    'team',
    'readers',
    {
      servers: ['wiki', 'later'],
      tools: ['*/*', '!wiki/write'],
      rename: { 'wiki/read': 'look' },
      pin: { 'wiki/read': { space: 'public' } },
    },
    {
      // An earlier process has written this status. Watches continue to deliver it here, since they may be behind the latest status.
      status: {
        observedGeneration: 1,
        endpoint: '/mcp/team_readers',
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'Served',
            message: 'served at /mcp/team_readers',
            observedGeneration: 1,
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      },
    },
  );
  api.apply('mcpprofiles', 'team', 'thieves', {
    servers: ['secret', 'elsewhere_secret', '../elsewhere/secret'],
    tools: ['elsewhere_secret/*', '*_secret/*'],
  });
  api.apply('mcpprofiles', 'team', 'wiki', {});
  api.apply('mcpprofiles', 'team', 'wrong', { tools: ['wiki/@(a|b)'] });
  api.apply('mcpprofiles', 'team', 'all', {});
  await using gateway = await startFinding('embedded', config, api);
  const of = (name: string, reason: string) =>
    api.patches
      .untilSome((patch) => patch.name === name && patch.status.conditions[0].reason === reason)
      .then(({ status }) => status);
  expect(await of('readers', 'Incomplete')).toMatchObject({
    endpoint: '/mcp/team_readers',
    conditions: [{ status: 'True', message: 'served at /mcp/team_readers without later, which are not there' }],
  });
  expect((await of('thieves', 'Incomplete')).conditions[0].message).toContain('without secret, elsewhere_secret');
  expect((await of('wiki', 'Invalid')).conditions[0].message).toContain(
    'the name "team_wiki" is taken, by McpServer team/wiki',
  );
  expect((await of('wrong', 'Invalid')).conditions[0].message).toContain('spec.tools');
  await of('all', 'Served');
  using readers = await RawClient.open(`${gateway.url}/team_readers`);
  expect(await readers.untilTools((names) => names.length > 0)).toEqual(['look']);
  expect((await readers.callTool('look')).last.result).toEqual(text('{"space":"public"}'));
  using thieves = await RawClient.open(`${gateway.url}/team_thieves`);
  expect(await thieves.toolNames()).toEqual([]);

  api.apply('mcpservers', 'team', 'later', { url: other.url });
  await readers.untilTools((names) => names.join(' ') === 'look team_later__other' || names.includes('other'));
  await of('readers', 'Served');
  api.delete('mcpprofiles', 'team', 'readers');
  await expect
    .poll(
      async () =>
        (
          await fetch(`${gateway.url}/team_readers`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
            body: JSON.stringify({
              jsonrpc: '2.0',
              id: 1,
              method: 'initialize',
              params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
            }),
          })
        ).status,
    )
    .not.toBe(200);
});

it('a labelled Service is a server, at the port and path its annotations say', async () => {
  await using api = await KubernetesApi.start();
  api.apply(
    'services',
    'team',
    'wiki',
    {
      ports: [
        { name: 'http', port: 80 },
        { name: 'mcp', port: 8080 },
      ],
    },
    { labels: { 'omnibus.dev/mcp': 'true' }, annotations: { 'omnibus.dev/port': 'mcp', 'omnibus.dev/path': '/tools' } },
  );
  api.apply('services', 'team', 'other', { ports: [{ port: 80 }] });
  await using gateway = await startFinding('embedded', config, api);
  await gateway.edge.line(/"servers":\["team_wiki"\],"msg":"servers were discovered"/);
  // Its name cannot be resolved outside of a cluster: the problem contains the address that was tried.
  const { servers } = (await (await fetch(`http://${await gateway.admin(gateway.edge)}/status`)).json()) as {
    servers: readonly { server: string; status: string }[];
  };
  expect(servers.map(({ server }) => server)).toEqual(['team_wiki']);
  await gateway.edge.line(/wiki\.team\.svc/);
});

it('headers come from Secrets that are labelled for it, and from no others', async () => {
  await using api = await KubernetesApi.start();
  await using upstream = await Upstream.start({ tools: [tool('one')], onCall: (call) => call.answer(text('one')) });
  const headersFrom = (name: string, key = 'token'): object[] => [
    { name: 'Authorization', prefix: 'Bearer ', secretKeyRef: { name, key } },
  ];
  const labels = { 'omnibus.dev/mcp': 'true' };
  api.secrets.set('team/for-servers', { labels, data: { token: 'xyz\n' } });
  api.secrets.set('team/private', { labels: {}, data: { token: 'private' } });
  api.apply('mcpservers', 'team', 'good', { url: upstream.url, headersFrom: headersFrom('for-servers') });
  api.apply('mcpservers', 'team', 'thief', { url: upstream.url, headersFrom: headersFrom('private') });
  api.apply('mcpservers', 'team', 'lost', { url: upstream.url, headersFrom: headersFrom('nowhere') });
  api.apply('mcpservers', 'team', 'empty', { url: upstream.url, headersFrom: headersFrom('for-servers', 'password') });
  await using gateway = await startFinding(
    'embedded',
    { discovery: { kubernetes: { ...config.discovery.kubernetes, secrets: true } } },
    api,
  );
  const of = (name: string, reason: string, part: string) =>
    api.patches.untilSome(
      (patch) =>
        patch.name === name &&
        patch.status.conditions[0].reason === reason &&
        patch.status.conditions[0].message.includes(part),
    );
  await of('good', 'Connected', 'team_good__*');
  await of('thief', 'Invalid', 'has no label omnibus.dev/mcp');
  await of('lost', 'Invalid', 'secrets "nowhere" not found');
  await of('empty', 'Invalid', 'has no key "password"');
  using client = await RawClient.open(gateway.url);
  expect((await client.callTool('one')).last.result).toEqual(text('one'));
  expect(upstream.authorizations).toEqual(new Set(['Bearer xyz']));

  await using other = await startFinding('embedded', config, api);
  await other.edge.line(/listening/);
  await of('good', 'Invalid', 'discovery.kubernetes.secrets is off');
});

it('servers of others are not connected to at this machine, however that is written, unless the host is allowed by name', async () => {
  await using api = await KubernetesApi.start();
  await using allowed = await Upstream.start({ tools: [tool('allowed')] });
  await using hidden = await Upstream.start({ tools: [tool('hidden')] });
  const { port } = new URL(hidden.url);
  const hosts = ['localhost', '0.0.0.0', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '169.254.169.254'];
  hosts.forEach((host, index) =>
    api.apply('mcpservers', 'team', `bad-${index}`, { url: `http://${host}:${port}/mcp` }),
  );
  api.apply('mcpservers', 'team', 'websocket', { url: `ws://[::1]:${port}/mcp` });
  api.apply('mcpservers', 'team', 'good', { url: allowed.url.replace('127.0.0.1', '127.0.0.2') });
  await using gateway = await startFinding(
    'embedded',
    { discovery: { kubernetes: { enabled: true, namespaces: ['*'], allowedHosts: ['127.0.0.2'] } } },
    api,
  );
  using client = await RawClient.open(gateway.url);
  for (const name of [...hosts.map((_host, index) => `bad-${index}`), 'websocket']) {
    await api.patches.untilSome(
      (patch) => patch.name === name && patch.status.conditions[0].message.includes('the address is not allowed'),
    );
  }
  expect(hidden.requests).toEqual([]);
  expect(await client.toolNames()).not.toContain('hidden');
});

it('only the namespace of the gateway is looked at unless others are named', async () => {
  await using api = await KubernetesApi.start();
  await using one = await Upstream.start({ tools: [tool('one')] });
  api.apply('mcpservers', 'default', 'mine', { url: one.url });
  api.apply('mcpservers', 'elsewhere', 'theirs', { url: one.url });
  await using gateway = await startFinding(
    'embedded',
    { discovery: { kubernetes: { enabled: true, allowedHosts: ['127.0.0.1'] } } },
    api,
  );
  using client = await RawClient.open(gateway.url);
  expect(await client.untilTools((names) => names.length > 0)).toEqual(['one']);
});
