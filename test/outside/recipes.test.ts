/** The recipes of docs/how-to/sign-in.md, copied from there, with stand-ins for the providers. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Balancer } from '../support/balancer.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { root } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { bearer, Browser, callback, claimsOf, OAuthClient, type Tokens } from '../support/sign-in.ts';
import { StandIns, type StandInProvider } from '../support/stand-in.ts';
import { Upstream } from '../support/upstream.ts';

interface Recipe {
  readonly publicUrl: string;
  readonly auth: { readonly issuers?: readonly object[]; readonly audience?: readonly string[] };
}

const environment = {
  ENTRA_SECRET: 'entra-secret',
  OKTA_SECRET: 'okta-secret',
  KEYCLOAK_SECRET: 'keycloak-secret',
  GOOGLE_SECRET: 'google-secret',
  GITHUB_SECRET: 'github-secret',
};
const [tenant, application] = ['5a1b1cd4-0000-4000-8000-000000000001', '5a1b1cd4-0000-4000-8000-000000000002'];
const paths = {
  entra: `/entra/${tenant}/v2.0`,
  okta: '/okta/oauth2/default',
  keycloak: '/keycloak/realms/acme',
  google: '/google',
  github: '/github',
};

let recipes: ReadonlyMap<string, string>;
let standIns: StandIns;
let upstream: Upstream;

/** A code block of the page, with the stand-ins in place of the providers. */
function recipe(name: string, publicUrl: string): Recipe {
  const { url } = standIns;
  const places: readonly (readonly [string, string])[] = [
    ['https://mcp.example.com', publicUrl],
    ['https://login.microsoftonline.com', `${url}/entra`],
    ['https://acme.okta.com', `${url}/okta`],
    ['https://keycloak.example.com', `${url}/keycloak`],
    ['https://accounts.google.com', `${url}${paths.google}`],
    ['https://github.com/login/oauth/authorize', `${url}${paths.github}/authorize`],
    ['https://github.com/login/oauth/access_token', `${url}${paths.github}/token`],
    ['https://api.github.com', `${url}${paths.github}`],
    ['TENANT_ID', tenant],
    ['APPLICATION_ID', application],
  ];
  return parse(places.reduce((text, [from, to]) => text.replaceAll(from, to), recipes.get(name) as string)) as Recipe;
}

beforeAll(async () => {
  recipes = new Map(
    [...(await readFile(join(root, 'docs/how-to/sign-in.md'), 'utf8')).matchAll(/```yaml (\S+)\n([\s\S]*?)```/g)].map(
      ([, name = '', text = '']) => [name, text],
    ),
  );
  standIns = await StandIns.start();
  upstream = await Upstream.start();
});

afterAll(async () => {
  await standIns[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

it('every block of the page is tested here', () => {
  expect([...recipes.keys()].toSorted()).toEqual([
    'entra-sign-in',
    'entra-tokens',
    'github-sign-in',
    'google-sign-in',
    'keycloak-sign-in',
    'keycloak-tokens',
    'okta-sign-in',
    'okta-tokens',
  ]);
});

describe('tokens of providers', () => {
  let gateway: GatewayHere;
  const resource = 'https://mcp.test/mcp';

  beforeAll(async () => {
    standIns.providers = Object.values(paths).map((path) => ({ path, clientId: '', secret: '', idToken: () => ({}) }));
    const all = ['entra-tokens', 'okta-tokens', 'keycloak-tokens'].map((name) => recipe(name, 'https://mcp.test'));
    gateway = await startGatewayHere(
      'embedded',
      {
        publicUrl: 'https://mcp.test',
        mcpServers: { up: { url: upstream.url } },
        auth: {
          issuers: all.flatMap(({ auth }) => auth.issuers ?? []),
          audience: [...all.flatMap(({ auth }) => auth.audience ?? []), resource],
          admin: { roles: { viewer: ['group:Reader', 'group:team', 'group:realm-reader'] }, scope: false },
        },
      },
      environment,
    );
  });

  afterAll(() => gateway[Symbol.asyncDispose]());

  /** The subject of a token according to the gateway, or its error. */
  async function heard(token: Promise<string>): Promise<string> {
    const sent = { authorization: `Bearer ${await token}` };
    const { status, body } = await new RawClient(gateway.url, sent).initialize('2025-11-25');
    if (status !== 200) return `${status} ${body}`;
    const asked = await fetch(`http://${await gateway.admin(gateway.edge)}/api/v1/whoami`, { headers: sent });
    const { name, roles } =
      asked.status === 200
        ? ((await asked.json()) as { readonly name: string; readonly roles: readonly string[] })
        : { name: ((await asked.json()) as { readonly problem: string }).problem.split(' ', 1)[0], roles: [] };
    return `${name?.split('|')[1] ?? ''} ${roles.join()}`.trim();
  }

  it('of Entra: oid and app roles, for the application id or its URI, of users and of services; too many groups, version 1 and ID tokens are refused in words', async () => {
    const user = { aud: application, oid: 'o-1', sub: 'pairwise', azp: 'cli', tid: tenant, ver: '2.0', scp: 'mcp' };
    const { entra } = paths;
    expect(await heard(standIns.sign(entra, { ...user, roles: ['Reader'] }))).toBe('o-1 viewer');
    expect(await heard(standIns.sign(entra, { ...user, aud: `api://${application}` }))).toBe('o-1');
    expect(
      await heard(
        standIns.sign(entra, { aud: application, oid: 'service', sub: 'service', azp: 'daemon', roles: ['Reader'] }),
      ),
    ).toBe('service viewer');
    // One application that is both client and resource.
    expect(await heard(standIns.sign(entra, { ...user, azp: application }))).toBe('o-1');
    // Missing groups matter only where groups are needed, and with roles they are not.
    expect(
      await heard(
        standIns.sign(entra, {
          ...user,
          roles: ['Reader'],
          _claim_names: { groups: 'src1' },
          _claim_sources: { src1: { endpoint: 'https://graph.microsoft.com/v1.0/users/x/getMemberObjects' } },
        }),
      ),
    ).toBe('o-1 viewer');
    expect(await heard(standIns.sign(entra, { ...user, _claim_names: { roles: 'src1' } }))).toMatch(
      /^401 .*too many.*roles of the application.*sign-in\.md/,
    );
    expect(await heard(standIns.sign(`/sts/${tenant}/`, user))).toMatch(
      /^401 .*its issuer is .*\/sts\/.*, whose tokens are not accepted here/,
    );
    expect(await heard(standIns.sign(entra, { aud: application, oid: 'o-1', nonce: 'n' }))).toMatch(/^401 .*ID token/);
    expect(await heard(standIns.sign(entra, { ...user, aud: '00000003-0000-0000-c000-000000000000' }))).toMatch(
      /^401 .*it is for 00000003-.*, and not for/,
    );
  });

  it('of Okta: uid and not the login, scp as a list, groups by the filter of the claim, and cid for services', async () => {
    const user = {
      aud: 'api://omnibus',
      uid: '00u1',
      cid: '0oa1',
      sub: 'ann@acme.example',
      scp: ['mcp', 'openid'],
      ver: 1,
    };
    expect(await heard(standIns.sign(paths.okta, { ...user, groups: ['team'] }))).toBe('00u1 viewer');
    expect(await heard(standIns.sign(paths.okta, { ...user, uid: undefined, sub: '0oa1', scp: ['mcp'] }))).toBe(
      'client:0oa1',
    );
    expect(await heard(standIns.sign(paths.okta, { ...user, aud: 'api://default' }))).toMatch(
      /^401 .*it is for api:\/\/default, and not for/,
    );
  });

  it('of Keycloak: roles of the realm, an audience by a mapper, and tokens of the named clients alone', async () => {
    const user = {
      aud: [resource, 'account'],
      sub: 'f3a1',
      azp: 'ci',
      typ: 'Bearer',
      scope: 'openid mcp',
      realm_access: { roles: ['realm-reader', 'offline_access'] },
    };
    expect(await heard(standIns.sign(paths.keycloak, user))).toBe('f3a1 viewer');
    expect(await heard(standIns.sign(paths.keycloak, { ...user, aud: 'account' }))).toMatch(
      /^401 .*it is for account, and not for/,
    );
    expect(await heard(standIns.sign(paths.keycloak, { ...user, azp: 'other' }))).toMatch(
      /^401 .*azp.*other.*ci or agent/,
    );
    expect(await heard(standIns.sign(paths.keycloak, { ...user, realm_access: { roles: 'realm-reader' } }))).toBe(
      'f3a1 viewer',
    );
    expect(await heard(standIns.sign(paths.keycloak, { ...user, realm_access: undefined }))).toBe('f3a1');
    expect(await heard(standIns.sign(paths.keycloak, { ...user, typ: 'ID' }))).toMatch(/^401 .*ID token/);
  });
});

describe('users of providers', () => {
  interface Case {
    readonly provider: Omit<StandInProvider, 'path' | 'secret'>;
    readonly path: string;
    readonly secret: string;
    /** The claims of our token for the user, before and after the user's data have changed. */
    readonly claims: object;
    readonly changed: object | undefined;
    /** The data of a user that must not sign in, and the displayed text. */
    readonly stranger: { readonly become: () => void; readonly reads: RegExp } | undefined;
  }

  let said: Readonly<Record<string, unknown>> = {};
  let organizations: readonly string[] = [];
  let isTaken = false;
  let hasMore = false;
  const offline = (query: URLSearchParams): boolean => (query.get('scope') ?? '').split(' ').includes('offline_access');
  const become = (more: Readonly<Record<string, unknown>>) => () => {
    said = { ...said, ...more };
  };

  const cases: Readonly<Record<string, Case>> = {
    'entra-sign-in': {
      path: paths.entra,
      secret: environment.ENTRA_SECRET,
      provider: {
        clientId: application,
        refreshes: offline,
        refuses: (query) => (query.has('resource') ? 'invalid_target' : undefined),
        idToken: () => ({ oid: 'o-1', sub: 'pairwise', tid: tenant, name: 'Ann', roles: ['Reader'], ...said }),
      },
      claims: { sub: 'o-1', groups: ['Reader'] },
      changed: { roles: ['Writer'] },
      stranger: { become: become({ tid: 'other' }), reads: /you may not use this gateway.*tid/ },
    },
    'okta-sign-in': {
      path: paths.okta,
      secret: environment.OKTA_SECRET,
      provider: {
        clientId: 'omnibus',
        refreshes: offline,
        idToken: () => ({ sub: '00u1', name: 'Ann', groups: ['team'], ...said }),
      },
      claims: { sub: '00u1', groups: ['team'] },
      changed: { groups: ['others'] },
      stranger: { become: become({ groups: undefined, _claim_names: { groups: 'src' } }), reads: /too many/ },
    },
    'keycloak-sign-in': {
      path: paths.keycloak,
      secret: environment.KEYCLOAK_SECRET,
      provider: {
        clientId: 'omnibus',
        refreshes: () => true,
        idToken: () => ({
          sub: 'f3a1',
          sid: 's-1',
          azp: 'omnibus',
          typ: 'ID',
          realm_access: { roles: ['realm-reader'] },
          ...said,
        }),
      },
      claims: { sub: 'f3a1', groups: ['realm-reader'] },
      changed: { realm_access: { roles: ['realm-writer'] } },
      stranger: undefined,
    },
    'google-sign-in': {
      path: paths.google,
      secret: environment.GOOGLE_SECRET,
      provider: {
        clientId: 'omnibus',
        refuses: (query) => (offline(query) ? 'invalid_scope' : undefined),
        refreshes: (query) => query.get('access_type') === 'offline' && query.get('prompt') === 'consent',
        idToken: () => ({ sub: '1098', hd: 'example.com', email: 'ann@example.com', ...said }),
      },
      claims: { sub: '1098' },
      changed: undefined,
      stranger: {
        become: become({ hd: undefined }),
        reads: /you may not use this gateway.*hd.*is not there.*example\.com/,
      },
    },
    'github-sign-in': {
      path: paths.github,
      secret: environment.GITHUB_SECRET,
      provider: {
        clientId: 'omnibus',
        api: (path) =>
          isTaken
            ? undefined
            : path === '/user'
              ? { body: { login: 'ann', id: 583_231, name: null } }
              : {
                  body: organizations.map((login, id) => ({ login, id })),
                  ...(hasMore ? { link: '<https://api.github.com/user/orgs?page=2>; rel="next"' } : {}),
                },
      },
      claims: { sub: '583231', groups: ['acme', 'tools'] },
      changed: {},
      stranger: {
        become: () => {
          organizations = ['others'];
        },
        reads: /you may not use this gateway.*organizations.*acme/,
      },
    },
  };

  it.each(Object.entries(cases))(
    '%s: a user signs in there with that identity, and changes there are seen with the next refresh',
    async (name, { path, secret, provider, claims, changed, stranger }) => {
      said = {};
      organizations = ['acme', 'tools'];
      isTaken = hasMore = false;
      standIns.providers = [{ path, secret, ...provider }];
      await using front = await Balancer.start();
      await using gateway = await startGatewayHere(
        'embedded',
        { ...recipe(name, front.url), mcpServers: { up: { url: upstream.url } } },
        environment,
      );
      front.edges = [gateway.url];
      const client = await OAuthClient.register(front.url);
      const enter = async (): Promise<string> => {
        const browser = new Browser();
        const page = await browser.open(client.authorizeUrl(), callback);
        return page.text.includes('/consent"') ? (await browser.submit(page, '/consent', {}, callback)).url : page.text;
      };
      const signIn = async (): Promise<Tokens> =>
        (await client.redeem(new URL(await enter()).searchParams.get('code') ?? '')).body as unknown as Tokens;
      const statusOf = async (granted: Tokens): Promise<number> =>
        (await new RawClient(gateway.url, bearer(granted)).initialize('2025-11-25')).status;

      let tokens = await signIn();
      const issuer = name === 'github-sign-in' ? 'https://github.com' : `${standIns.url}${path}`;
      expect(claimsOf(tokens)).toMatchObject({
        ...claims,
        sub: `${issuer}|${(claims as { readonly sub: string }).sub}`,
        iss: front.url,
      });
      expect(await statusOf(tokens)).toBe(200);
      /** Refreshes the tokens. @returns them, or the error. */
      const refresh = async (): Promise<unknown> => {
        const { status, body } = await client.refresh(tokens.refresh_token);
        if (status !== 200) return body['error'];
        tokens = body as unknown as Tokens;
        return claimsOf(tokens)['groups'];
      };
      const soon = { interval: 300 };
      if (changed !== undefined) {
        said = changed as typeof said;
        organizations = ['acme'];
        const expected =
          name === 'github-sign-in'
            ? ['acme']
            : Object.values(changed).flatMap(
                (value: unknown) =>
                  (Array.isArray(value)
                    ? value
                    : (value as { readonly roles: readonly string[] }).roles) as readonly string[],
              );
        await expect.poll(refresh, soon).toEqual(expected);
      }
      if (name === 'keycloak-sign-in') {
        const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
        const logOut = async (claimsOfToken: Readonly<Record<string, unknown>>): Promise<number> =>
          (
            await fetch(`${front.url}/federation/logout`, {
              method: 'POST',
              body: new URLSearchParams({
                logout_token: await standIns.sign(path, { aud: 'omnibus', jti: 'j', events, ...claimsOfToken }),
              }),
            })
          ).status;
        const forged: readonly Readonly<Record<string, unknown>>[] = [
          { sid: 's-1', aud: 'others' },
          { sid: 's-1', nonce: 'n' },
          { sid: 's-1', events: {} },
          { sid: 's-2' },
          {},
          { sid: 's-1', iat: 1_000 },
          { sid: 's-1', iss: 'https://evil.example' },
        ];
        expect(await Promise.all(forged.map(logOut))).toEqual(forged.map(() => 400));
        expect(await statusOf(tokens)).toBe(200);
        expect(await logOut({ sid: 's-1' })).toBe(200);
        await expect.poll(() => statusOf(tokens)).toBe(401);
        expect(await refresh()).toBe('invalid_grant');
        // The token names the user, where the provider has no session ids.
        tokens = await signIn();
        expect([await statusOf(tokens), await logOut({ sub: 'f3a1' })]).toEqual([200, 200]);
        await expect.poll(() => statusOf(tokens)).toBe(401);
        return;
      }
      if (stranger === undefined) return;
      stranger.become();
      // A user that may no longer sign in gets no more tokens.
      await expect.poll(refresh, soon).toBe('invalid_grant');
      expect(await statusOf(tokens)).toBe(401);
      expect(await enter()).toMatch(stranger.reads);
      if (name !== 'github-sign-in') return;
      [organizations, hasMore] = [['acme'], true];
      expect(await enter()).toContain('too many');
      hasMore = false;
      tokens = await signIn();
      isTaken = true;
      await expect.poll(refresh, soon).toBe('invalid_grant');
    },
  );
});
