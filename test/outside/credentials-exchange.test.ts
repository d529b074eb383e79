/**
 * Servers that are called with tokens made from those of callers: by exchange of a caller's token, or by an assertion of the identity provider at which the
 * caller has signed in. The token of a caller goes to no server, and not onto the bus.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Outsider } from '@omnibus/bus/testing';
import { StandInIssuer } from '@omnibus/identity/testing';
import { Balancer } from '../support/balancer.ts';
import { shapesOfLane, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { IdentityProvider } from '../support/identity-provider.ts';
import { Keys } from '../support/keys.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { saidHere } from '../support/command-here.ts';
import type { RunningProcess } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { bearer, Browser, callback, OAuthClient } from '../support/sign-in.ts';

const users = ['ann', 'ben'] as const;
type User = (typeof users)[number];

const revision = '2025-11-25';
const vaultKey = `a:${Buffer.alloc(32, 7).toString('base64')}`;
const subjectOf = (token: string): string =>
  String(
    (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { readonly sub?: unknown }).sub,
  );
const textOf = ({ last }: Answer): string =>
  (last.result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(last);

describe.each(shapesOfLane)('%s,', (shape) => {
  const stack = new AsyncDisposableStack();
  let issuer: StandInIssuer;
  let provider: IdentityProvider;
  let servers: Record<'records' | 'mail', PersonalServer>;
  let gateway: GatewayUnderTest;
  let keys: Keys;
  let front: Balancer;
  /** All messages that a reader of the bus sees. */
  const heard: string[] = [];
  const exchanges: { readonly form: URLSearchParams; readonly authorization: string }[] = [];
  const redeemed: URLSearchParams[] = [];
  let refuses: string | undefined;
  const tokens = new Map<User, string>();
  const clients = new Map<User, RawClient>();
  const of = (user: User): RawClient => clients.get(user) as RawClient;

  beforeAll(async () => {
    issuer = stack.use(await StandInIssuer.start());
    provider = stack.use(await IdentityProvider.start());
    const records = stack.use(
      await PersonalServer.start({
        redeem: async (form, authorization) => {
          exchanges.push({ form, authorization });
          return Promise.resolve(
            refuses === undefined ? { user: subjectOf(form.get('subject_token') ?? '') } : { error: refuses },
          );
        },
      }),
    );
    const mail: PersonalServer = stack.use(
      await PersonalServer.start({
        redeem: async (form) => {
          redeemed.push(form);
          return { user: await provider.userOf(form.get('assertion') ?? '', mail.origin) };
        },
      }),
    );
    servers = { records, mail };
    keys = stack.use(await Keys.make('machine'));
    front = stack.use(await Balancer.start());
    const restart = { minDelay: '50ms', maxDelay: '200ms' };
    gateway = stack.use(
      await startGateway(shape, {
        publicUrl: front.url,
        vault: { keys: [vaultKey] },
        auth: {
          ...keys.auth,
          issuers: [{ issuer: issuer.issuer }],
          server: {
            clients: [{ id: 'test', redirectUris: [callback] }],
            signIn: { issuer: provider.issuer, clientId: 'omnibus', clientSecret: provider.clientSecret },
          },
        },
        mcpServers: {
          records: {
            url: records.url,
            restart,
            credentials: {
              kind: 'exchange',
              issuer: records.origin,
              from: [issuer.issuer],
              clientId: 'gateway',
              clientSecret: 'secret-at-records',
              audience: 'the-records',
            },
          },
          mail: {
            url: mail.url,
            restart,
            credentials: {
              kind: 'enterprise',
              issuer: mail.origin,
              clientId: 'gateway',
              clientSecret: 'secret-at-mail',
            },
          },
        },
      }),
    );
    front.edges = [gateway.url];
    if (gateway.bus !== undefined)
      stack
        .use(await Outsider.connect(gateway.bus))
        .subscribe('>', (subject, text) => void heard.push(`${subject} ${text}`));
    for (const user of users) {
      const token = await issuer.token({ sub: user, aud: `${front.url}/mcp` });
      tokens.set(user, token);
      clients.set(user, stack.use(await RawClient.open(gateway.url, revision, { authorization: `Bearer ${token}` })));
    }
  });
  afterAll(() => stack.disposeAsync());

  it('each user sees and calls the server in his own name, and his token is exchanged once, however many calls there are', async () => {
    for (const user of users)
      expect(await of(user).untilTools((names) => names.includes(`records__only_${user}`))).toContain('records__whose');
    const calls = users.flatMap((user) =>
      Array.from({ length: 12 }, async (_, index) =>
        expect(textOf(await of(user).callTool('records__whose', { mark: `${user}${index}` }))).toBe(
          `${user} ${user}${index}`,
        ),
      ),
    );
    await Promise.all(calls);
    expect(servers.records.violations).toEqual([]);
    expect(exchanges.map(({ form }) => subjectOf(form.get('subject_token') ?? '')).toSorted()).toEqual([...users]);
    const [{ form, authorization }] = exchanges as [(typeof exchanges)[number]];
    expect(Object.fromEntries(form)).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'the-records',
      resource: servers.records.url,
      scope: 'use',
    });
    expect(authorization).toBe(`Basic ${Buffer.from('gateway:secret-at-records').toString('base64')}`);
    expect([...users].some((user) => servers.records.shown.has(`Bearer ${tokens.get(user) as string}`))).toBe(false);
  });

  it('a token that the server refuses is replaced once, and the call made again with it', async () => {
    const before = exchanges.length;
    servers.records.expire('ann');
    expect(
      await Promise.all(
        [1, 2, 3].map(async (index) => textOf(await of('ann').callTool('records__whose', { mark: `again${index}` }))),
      ),
    ).toEqual(['ann again1', 'ann again2', 'ann again3']);
    expect(exchanges.length - before).toBe(1);
  });

  it("calls for a user signed in at the gateway use an assertion of the user's identity provider", async () => {
    const signedIn = await new OAuthClient(front.url, 'test').signIn(new Browser(), '', '');
    using una = await RawClient.open(gateway.url, revision, bearer(signedIn));
    expect(await una.untilTools((names) => names.includes('mail__only_una'))).toContain('mail__whose');
    expect(textOf(await una.callTool('mail__whose', { mark: 'mine' }))).toBe('una mine');
    const [asked] = provider.asked as [URLSearchParams];
    expect(Object.fromEntries(asked)).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: servers.mail.origin,
      resource: servers.mail.url,
    });
    expect(redeemed.map((form) => form.get('grant_type'))).toEqual(['urn:ietf:params:oauth:grant-type:jwt-bearer']);
    // The token of the gateway is of no issuer for the exchange.
    await una.untilTools((names) => names.includes('records__connect'));
    expect(textOf(await una.callTool('records__connect'))).toContain(
      `the caller's token is of ${front.url}, and only tokens of ${issuer.issuer} are exchanged for this server`,
    );
  });

  it('who cannot be called for is told why, at which issuer, and with which error code', async () => {
    using machine = await RawClient.open(gateway.url, revision, keys.headersOf('machine'));
    expect(await machine.untilTools((names) => names.includes('records__connect'))).not.toContain('records__whose');
    expect(textOf(await machine.callTool('records__connect'))).toContain(
      'this caller is known by something else, such as an API key',
    );
    refuses = 'unauthorized_client';
    const token = await issuer.token({ sub: 'cat', aud: `${front.url}/mcp` });
    using cat = await RawClient.open(gateway.url, revision, { authorization: `Bearer ${token}` });
    const said = textOf(await cat.callTool('records__connect'));
    expect(said).toContain(
      `the token of the user is not exchanged: the issuer ${servers.records.origin} gives no token: unauthorized_client`,
    );
    expect(said).not.toContain(token);
    refuses = undefined;
    expect(await cat.untilTools((names) => names.includes('records__only_cat'))).not.toContain('records__connect');
  });

  if (shape === 'nats')
    it('a caller who comes by another edge is called for with the token that he shows there, also when the first edge is gone', async () => {
      const url = await gateway.startEdge();
      const token = await issuer.token({ sub: 'ann', aud: `${front.url}/mcp` });
      tokens.set('ann', token);
      using moved = await RawClient.open(url, revision, { authorization: `Bearer ${token}` });
      expect(textOf(await moved.callTool('records__whose', { mark: 'there' }))).toBe('ann there');
      gateway.edge.child.kill('SIGKILL');
      servers.records.expire('ann');
      const before = exchanges.length;
      expect(textOf(await moved.callTool('records__whose', { mark: 'alone' }))).toBe('ann alone');
      expect(exchanges.slice(before).map(({ form }) => form.get('subject_token'))).toEqual([token]);
    });

  it('status and check say on whose account each server is called', async () => {
    const { output } = await saidHere(['check', gateway.configFile]);
    expect(output).toContain(`records: each user's: by exchange of his token at ${servers.records.origin}`);
    expect(output).toContain(`mail: each user's: by an assertion of ${provider.issuer}`);
  });

  it('nothing that was written, said on the bus or shown to a server contains the token of a caller, or one made from it', async () => {
    const metrics = await fetch(
      `http://${await gateway.admin(gateway.processes.at(-1) as RunningProcess)}/metrics`,
    ).then((answer) => answer.text());
    expect(metrics).toMatch(/omnibus_credential_requests_total\{server="records",outcome="good"\} \d/);
    const written = [...gateway.processes.map((each) => each.output()), ...heard, metrics].join('\n');
    const secrets = [
      ...tokens.values(),
      ...provider.secrets,
      provider.clientSecret,
      'secret-at-records',
      'secret-at-mail',
      ...Object.values(servers).flatMap((server) => server.secrets.filter((each) => each.startsWith('access'))),
    ];
    expect(secrets.length).toBeGreaterThan(8);
    expect(secrets.filter((each) => written.includes(each))).toEqual([]);
    if (shape === 'nats') expect(heard.some((each) => each.includes('.caller-token.'))).toBe(true);
  });
});
