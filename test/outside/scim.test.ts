/** Users and groups that providers send by SCIM, with requests as Entra ID and Okta document them. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StandInIssuer } from '@omnibus/identity/testing';
import { Balancer } from '../support/balancer.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { startGatewayHere, type GatewayHere } from '../support/gateway-here.ts';
import { IdentityProvider } from '../support/identity-provider.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { Browser, OAuthClient } from '../support/sign-in.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const secret = (): string => randomBytes(33).toString('base64url');
const patchOp = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

interface Said {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>> & { readonly id: string };
}

describe.each(shapesOfLane)('%s', (shape) => {
  const stack = new AsyncDisposableStack();
  const entra = secret();
  const okta = secret();
  let gateway: GatewayHere;
  let front: Balancer;
  let upstream: Upstream;
  let issuer: StandInIssuer;
  let provider: IdentityProvider;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-scim-'));
    stack.defer(() => rm(folder, { recursive: true }));
    upstream = stack.use(
      await Upstream.start({
        tools: [tool('read'), tool('wait')],
        onCall: (call) => {
          if (call.name !== 'wait') call.answer(text(`done: ${call.name}`));
        },
      }),
    );
    issuer = stack.use(await StandInIssuer.start());
    provider = stack.use(await IdentityProvider.start());
    front = stack.use(await Balancer.start());
    gateway = stack.use(
      await startGatewayHere(shape, {
        publicUrl: front.url,
        prefix: 'never',
        ...(shape === 'embedded' ? { sessions: { store: join(folder, 'store') } } : {}),
        auth: {
          admin: {
            roles: {
              viewer: ['group:Engineers'],
              auditor: [`${issuer.issuer}|oid-1`],
              operator: [`${issuer.issuer}|oid-ops`],
              admin: [`${issuer.issuer}|oid-admin`],
            },
            scope: false,
          },
          issuers: [{ issuer: issuer.issuer, tokenType: 'at+jwt' }],
          server: {
            agents: { file: join(folder, 'agents.yaml') },
            actors: [{ agent: 'bot', for: 'group:Engineers' }],
            signIn: { issuer: provider.issuer, clientId: 'omnibus', clientSecret: provider.clientSecret },
          },
          scim: [
            { issuer: issuer.issuer, token: entra },
            { issuer: provider.issuer, token: [okta, secret()], subject: 'userName' },
          ],
        },
        access: { default: 'deny', rules: [{ id: 'eng', who: 'group:Engineers', allow: ['up/*'] }] },
        mcpServers: { up: { url: upstream.url } },
      }),
    );
    front.edges = shape === 'embedded' ? [gateway.url] : [gateway.url, await gateway.startEdge()];
  });
  afterAll(() => stack.disposeAsync());

  const ask = async (
    method: string,
    path: string,
    body?: object,
    { token = entra, ...headers }: Readonly<Record<string, string>> = {},
  ): Promise<Said> => {
    const response = await fetch(`${front.url}/scim/v2/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const said = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: JSON.parse(said === '' ? '{}' : said) as Said['body'],
    };
  };
  const patch = (path: string, ...operations: readonly object[]): Promise<Said> =>
    ask('PATCH', path, { schemas: [patchOp], Operations: operations });
  const list = async (path: string, headers = {}): Promise<readonly unknown[]> => {
    const { status, body } = await ask('GET', path, undefined, headers);
    expect(status).toBe(200);
    expect(body['schemas']).toEqual(['urn:ietf:params:scim:api:messages:2.0:ListResponse']);
    return body['Resources'] as readonly unknown[];
  };
  const tokenOf = async (sub: string): Promise<Readonly<Record<string, string>>> => ({
    authorization: `Bearer ${await issuer.token({ sub, aud: `${front.url}/mcp` })}`,
  });
  /** Resolves when both edges answer with this: requests go to them in turn. */
  const untilAll = (asked: () => Promise<unknown>, expected: unknown): Promise<unknown> =>
    expect.poll(async () => [await asked(), await asked()]).toEqual([expected, expected]) as Promise<unknown>;
  const made = async (name: string, externalId: string): Promise<string> => {
    const { status, body } = await ask('POST', 'Users', {
      schemas: [userSchema, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
      externalId,
      userName: `${name}@example.com`,
      active: true,
      displayName: name,
      emails: [{ primary: true, type: 'work', value: `${name}@example.com` }],
      meta: { resourceType: 'User' },
      name: { formatted: name, familyName: 'Lee', givenName: name },
      roles: [],
      title: 'Lead',
    });
    expect(status, JSON.stringify(body)).toBe(201);
    return body.id;
  };

  it('Entra ID creates a user and a group, whose rules count at once; a deactivated user loses calls, sessions and streams on all edges', async () => {
    expect((await ask('GET', 'ServiceProviderConfig')).body).toMatchObject({ patch: { supported: true } });
    expect(await list('Schemas')).toMatchObject([{ id: userSchema }, { id: groupSchema }]);
    expect(await list('ResourceTypes')).toMatchObject([{ endpoint: '/Users' }, { endpoint: '/Groups' }]);
    // The test of the connection, and the search before a user is created.
    expect(await list('Users?filter=userName+eq+%22non-existent-user%22')).toEqual([]);
    const token = await tokenOf('oid-1');
    const modern = new ModernClient(`${front.url}/mcp`);
    const tools = async (): Promise<readonly string[]> =>
      (
        ((await modern.request('tools/list', {}, token)).last.result?.['tools'] ?? []) as { readonly name: string }[]
      ).map(({ name }) => name);
    expect(await tools()).toEqual([]);
    using open = await RawClient.open(`${front.url}/mcp`, '2025-11-25', token);

    const id = await made('ann', 'oid-1');
    await untilAll(
      () => list('Users?filter=externalId eq "oid-1"&attributes=userName'),
      [{ schemas: [userSchema], id, userName: 'ann@example.com' }],
    );
    const group = await ask('POST', 'Groups', {
      schemas: [groupSchema, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId: '8aa1a0c0',
      displayName: 'Engineers',
      meta: { resourceType: 'Group' },
    });
    expect(group).toMatchObject({ status: 201, body: { displayName: 'Engineers', members: [] } });
    await untilAll(
      async () =>
        (await list('Groups?excludedAttributes=members&filter=displayName eq "Engineers"')).map((each) =>
          Object.keys(each as object).toSorted(),
        ),
      [['displayName', 'externalId', 'id', 'meta', 'schemas']],
    );
    const acts = await agentFor('oid-1');
    await untilAll(acts, 'invalid_request');
    await patch(`Groups/${group.body.id}`, { op: 'Add', path: 'members', value: [{ $ref: null, value: id }] });
    await untilAll(tools, ['read', 'wait']);
    // An agent may act for users of this group (auth.server.actors).
    await untilAll(acts, 'Bearer');
    await open.untilTools((names) => names.length === 2);
    expect((await open.callTool('read')).last.result).toMatchObject(text('done: read'));

    // The group counts at the admin port of each process too, beside a role of the user's own.
    const ports = await Promise.all([gateway.edge, gateway.backend].map((part) => gateway.admin(part)));
    const seen = (): Promise<readonly number[]> =>
      Promise.all(
        ports.flatMap((port) =>
          ['status', 'api/v1/usage'].map(
            async (path) => (await fetch(`http://${port}/${path}`, { headers: token })).status,
          ),
        ),
      );
    await expect.poll(seen).toEqual([200, 200, 200, 200]);

    const call = open.callTool('wait');
    await upstream.calls.untilSome(({ name }) => name === 'wait');
    const events = await fetch(`${front.url}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': String(open.session), ...token },
    });
    expect(events.status).toBe(200);
    const gone = await patch(`Users/${id}`, { op: 'Replace', path: 'active', value: 'False' });
    expect(gone).toMatchObject({ status: 200, body: { active: false, groups: [{ display: 'Engineers' }] } });
    expect((await call).last.error?.data?.['reason']).toBe('auth.blocked');
    await events.text();
    await expect.poll(seen).toEqual([403, 403, 403, 403]);
    await untilAll(async () => (await open.callTool('read')).status, 403);
    await untilAll(async () => (await modern.request('tools/list', {}, token)).status, 403);

    await patch(`Users/${id}`, { op: 'Replace', path: 'active', value: 'True' });
    await untilAll(tools, ['read', 'wait']);
    await patch(`Groups/${group.body.id}`, { op: 'Remove', path: 'members', value: [{ $ref: null, value: id }] });
    await untilAll(tools, []);
    expect((await ask('DELETE', `Users/${id}`)).status).toBe(204);
    await untilAll(async () => (await modern.request('tools/list', {}, token)).status, 403);
    expect((await ask('GET', `Users/${id}`)).status).toBe(404);
    // A user that is created again is another one with the same tokens.
    await made('ann', 'oid-1');
    await untilAll(async () => (await modern.request('tools/list', {}, token)).status, 200);
  });

  /** Adds the agent `bot`. @returns a function that asks for a token for the user: the kind of the token, or the error. */
  async function agentFor(sub: string): Promise<() => Promise<string>> {
    const response = await fetch(`http://${await gateway.admin(gateway.edge)}/api/v1/agents`, {
      method: 'POST',
      headers: { ...(await tokenOf('oid-admin')), 'x-omnibus-console': '1', 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'bot', owner: 'ann' }),
    });
    const { secret } = (await response.json()) as { readonly secret: string };
    const asked = async (form: Readonly<Record<string, string>>): Promise<string> => {
      const body = new URLSearchParams({ client_id: 'agent-bot', client_secret: secret, ...form });
      const answer = await fetch(`${front.url}/token`, { method: 'POST', body });
      const said = (await answer.json()) as { readonly token_type?: string; readonly error?: string };
      return said.token_type ?? String(said.error);
    };
    // Every edge knows the agent.
    await untilAll(() => asked({ grant_type: 'client_credentials' }), 'Bearer');
    const user = await issuer.token({ sub, aud: `${front.url}/mcp`, scope: 'mcp' });
    return () =>
      asked({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: user,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      });
  }

  /** An operator sees both programs of a user, at a process without the authorization server too, and revokes the second. */
  async function revokesOneProgram(name: string, first: { readonly access_token: string }): Promise<void> {
    const client = await OAuthClient.register(front.url, { client_name: 'Second' });
    const tokens = await client.signIn(new Browser(), '', '');
    const user = `${provider.issuer}|${name}`;
    const port = await gateway.admin(gateway.backend);
    const at = async (sub: string, path: string, body?: object): Promise<{ status: number; body: unknown }> => {
      const response = await fetch(`http://${port}/api/v1/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...(await tokenOf(sub)), 'x-omnibus-console': '1', 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return { status: response.status, body: await response.json() };
    };
    const seen = async () =>
      (await at('oid-ops', `programs?user=${encodeURIComponent(user)}`)) as {
        readonly body: { readonly programs: readonly { readonly id: string; readonly name?: string }[] };
      };
    const { body } = await seen();
    expect(body).toMatchObject({ user, isKnown: true, agents: [] });
    expect(body.programs).toHaveLength(2);
    const second = body.programs.find((each) => each.name === 'Second');
    expect(second).toMatchObject({ client: client.id, scopes: ['mcp'], lastUse: expect.any(String) as string });
    expect(JSON.stringify(body)).not.toContain(tokens.refresh_token);
    const path = `programs/${second?.id}`;
    expect(await at('oid-1', path, { user })).toMatchObject({ status: 403 });
    expect(await at('oid-ops', path, { user })).toEqual({ status: 200, body: { user, client: client.id } });
    expect(await at('oid-ops', path, { user })).toMatchObject({ status: 404 });
    expect((await at('oid-ops', 'programs?user=nobody')).status).toBe(404);
    expect(await client.refresh(tokens.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect((await seen()).body.programs).toHaveLength(1);
    using other = new ModernClient(`${front.url}/mcp`);
    expect((await other.request('tools/list', {}, { authorization: `Bearer ${first.access_token}` })).status).toBe(200);
  }

  it('Okta pushes a group and deactivates a user that has signed in through the gateway: its tokens are revoked at once', async () => {
    const as = { token: okta };
    const user = {
      schemas: [userSchema],
      userName: 'una',
      name: { givenName: 'Una', familyName: 'Lee' },
      emails: [{ primary: true, value: 'una@example.com', type: 'work' }],
      displayName: 'Una Lee',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password: '1mz050nq',
      active: true,
    };
    expect(await list('Users?filter=userName%20eq%20%22una%22&startIndex=1&count=100', as)).toEqual([]);
    const created = await ask('POST', 'Users', user, as);
    expect(created).toMatchObject({ status: 201, body: { userName: 'una', active: true } });
    expect(created.body).not.toHaveProperty('password');
    const { id } = created.body;
    const group = await ask(
      'POST',
      'Groups',
      { schemas: [groupSchema], displayName: 'Eng', members: [{ value: id, display: 'una' }] },
      as,
    );
    const members = async (): Promise<unknown> =>
      (await ask('GET', `Groups/${group.body.id}`, undefined, as)).body['members'];
    await untilAll(members, [expect.objectContaining({ value: id, display: 'una' })]);
    const operations = [{ op: 'replace', value: { id: group.body.id, displayName: 'Engineers' } }];
    expect(
      await ask('PATCH', `Groups/${group.body.id}`, { schemas: [patchOp], Operations: operations }, as),
    ).toMatchObject({ status: 200, body: { displayName: 'Engineers', members: [{ value: id, display: 'una' }] } });

    provider.user = 'una';
    const client = await OAuthClient.register(front.url);
    const tokens = await client.signIn(new Browser(), '', '');
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    using open = await RawClient.open(`${front.url}/mcp`, '2025-11-25', headers);
    await open.untilTools((names) => names.length === 2);
    await revokesOneProgram('una', tokens);
    expect((await ask('PUT', `Users/${id}`, { ...user, id, active: false }, as)).body).toMatchObject({ active: false });
    await untilAll(async () => (await open.callTool('read')).status >= 400, true);
    expect(await client.refresh(tokens.refresh_token)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect((await ask('PUT', `Users/${id}`, { ...user, id }, as)).status).toBe(200);
    // The tokens from before stay revoked.
    await untilAll(async () => (await open.callTool('read')).status, 401);
    // The other directory does not see this user.
    expect((await ask('GET', `Users/${id}`)).status).toBe(404);
    expect(await list('Users?filter=userName eq "una"')).toEqual([]);
  });

  it('lists have pages, entries have versions, names are unique, and wrong requests are refused in words', async () => {
    const ids = [];
    for (const name of ['pam', 'pat', 'pia']) ids.push(await made(name, `oid-${name}`));
    await untilAll(async () => (await list('Users?filter=userName eq "pia@example.com"')).length, 1);
    const page = await ask('GET', 'Users?startIndex=2&count=1&attributes=userName');
    expect(page.body).toMatchObject({ itemsPerPage: 1, startIndex: 2 });
    expect(Object.keys((page.body['Resources'] as readonly object[])[0] as object).toSorted()).toEqual([
      'id',
      'schemas',
      'userName',
    ]);
    expect((await ask('GET', 'Users?count=0')).body).toMatchObject({
      Resources: [],
      totalResults: expect.any(Number) as number,
    });
    const read = await ask('GET', `Users/${ids[0]}`);
    const etag = String(read.headers.get('etag'));
    expect(read.body['meta']).toMatchObject({ version: etag, location: `${front.url}/scim/v2/Users/${ids[0]}` });
    const change = { schemas: [patchOp], Operations: [{ op: 'replace', path: 'displayName', value: 'P' }] };
    expect((await ask('PATCH', `Users/${ids[0]}`, change, { 'if-match': etag })).status).toBe(200);
    expect((await ask('PATCH', `Users/${ids[0]}`, change, { 'if-match': etag })).status).toBe(412);

    const user = { schemas: [userSchema], userName: 'PAM@example.com', externalId: 'other' };
    const wrong: readonly [Promise<Said>, number, string | undefined][] = [
      [ask('POST', 'Users', user), 409, 'uniqueness'],
      [ask('POST', 'Users', { ...user, userName: 'x', externalId: undefined }), 400, 'invalidValue'],
      [ask('POST', 'Users', { ...user, userName: undefined }), 400, 'invalidValue'],
      [ask('POST', 'Groups', { displayName: 'G', members: [{ value: 'nobody' }] }), 400, 'invalidValue'],
      [ask('GET', 'Users?filter=userName co "x"'), 400, 'invalidFilter'],
      [patch(`Users/${ids[1]}`, { op: 'replace', path: 'userName', value: 'pia@example.com' }), 409, 'uniqueness'],
      [ask('PATCH', `Users/${ids[1]}`, { Operations: [] }), 400, 'invalidSyntax'],
      [ask('POST', 'Users', user, { 'content-type': 'text/plain' }), 415, undefined],
      [ask('POST', 'Users', { ...user, displayName: 'x'.repeat(2_000_000) }), 413, 'tooMany'],
      [ask('DELETE', 'Users'), 405, undefined],
      [ask('GET', 'Bulk'), 404, undefined],
      [ask('GET', 'Users/..%2F..'), 404, undefined],
      [ask('GET', 'Users', undefined, { token: secret() }), 401, undefined],
    ];
    for (const [asked, status, scimType] of wrong) {
      const said = await asked;
      expect(said).toMatchObject({
        status,
        body: {
          schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
          status: String(status),
          detail: expect.any(String) as string,
        },
      });
      expect(said.body['scimType']).toBe(scimType);
      expect(said.headers.get('content-type')).toMatch(/^application\/scim\+json/);
    }
    const anonymous = await fetch(`${front.url}/scim/v2/Users`);
    expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="omnibus scim"']);
  });

  it('of requests for one user at the same time, one creates it, whichever edges get them', async () => {
    const user = { schemas: [userSchema], userName: 'sam@example.com', externalId: 'oid-sam' };
    const said = await Promise.all(Array.from({ length: 8 }, () => ask('POST', 'Users', user)));
    expect(said.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      201,
      ...Array.from({ length: 7 }, () => 409),
    ]);
    await untilAll(async () => (await list('Users?filter=userName eq "sam@example.com"')).length, 1);
  });
});
