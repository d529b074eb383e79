/** Requests of clients and browsers to the authorization server and the pages of a gateway, as a correct one would write them, with what earlier answers gave. */
import { createHash } from 'node:crypto';
import { callback } from '../support/sign-in.ts';
import type { Chooser } from './mutate.ts';

export interface WebRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly form?: Readonly<Record<string, unknown>>;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export const verifier = 'v'.repeat(64);
export const challenge = createHash('sha256').update(verifier).digest('base64url');
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** What earlier answers gave, each kind the newest first. */
export class Gathered {
  readonly #kept = new Map<string, string[]>();

  /** @param kind such as `client_id`. */
  add(kind: string, value: unknown): void {
    if (typeof value !== 'string' || value === '') return;
    const values = this.#kept.get(kind) ?? [];
    this.#kept.set(kind, [value, ...values.filter((each) => each !== value)].slice(0, 20));
  }

  one(kind: string, choose: Chooser): string {
    return choose.of(this.#kept.get(kind) ?? ['none']);
  }
}

interface Given {
  readonly issuer: string;
  readonly one: (kind: string) => string;
  readonly choose: Chooser;
  readonly client_id: string;
  readonly resource: string;
  readonly cookie: { readonly cookie: string };
  readonly own: { readonly cookie: string; readonly origin: string };
}

const queryOf = (client_id: string, resource: string) => ({
  client_id,
  response_type: 'code',
  redirect_uri: callback,
  state: 'st',
  resource,
  scope: 'mcp',
  code_challenge: challenge,
  code_challenge_method: 'S256',
});

type Recipes = readonly (() => WebRequest)[];

/** Addresses of the protocol that browsers open, and that give tokens. */
function tokenRecipes({ one, choose, client_id, resource, cookie }: Given): Recipes {
  const authorize = queryOf(client_id, resource);
  const token = (form: object): WebRequest => ({ method: 'POST', path: '/token', form: { client_id, ...form } });
  return [
    () => ({ method: 'GET', path: '/authorize', query: authorize, headers: cookie }),
    () => ({
      method: 'GET',
      path: '/authorize',
      query: {
        ...authorize,
        prompt: choose.of(['none', 'login', 'consent', 'create']),
        max_age: choose.of(['0', '-1', 'x']),
        claims: '{"userinfo":{}}',
        request: 'a.b.c',
        request_uri: 'urn:x',
        ui_locales: 'de',
        id_token_hint: 'a.b.c',
        login_hint: 'ann',
      },
      headers: cookie,
    }),
    () => ({ method: 'GET', path: `/authorize/${one('interaction')}`, headers: cookie }),
    () =>
      token({
        grant_type: 'authorization_code',
        code: one('code'),
        redirect_uri: callback,
        code_verifier: verifier,
        resource,
      }),
    () => token({ grant_type: 'refresh_token', refresh_token: one('refresh_token'), resource, scope: 'mcp' }),
    () => token({ grant_type: deviceGrant, device_code: one('device_code') }),
    () =>
      token({
        grant_type: choose.of([
          'client_credentials',
          'password',
          'urn:ietf:params:oauth:grant-type:token-exchange',
          'implicit',
        ]),
        username: 'ann',
        password: 'x',
        subject_token: one('access_token'),
      }),
    () => ({
      method: 'POST',
      path: '/token',
      form: { grant_type: 'authorization_code', code: one('code') },
      headers: { authorization: `Basic ${Buffer.from(`${client_id}:x`).toString('base64')}` },
    }),
  ];
}

/** Addresses that programs request. */
function programRecipes({ one, choose, client_id, resource }: Given): Recipes {
  return [
    () => ({
      method: 'POST',
      path: '/revoke',
      form: { client_id, token: choose.chance(0.1) ? one('refresh_token') : 'x', token_type_hint: 'refresh_token' },
    }),
    () => ({
      method: 'POST',
      path: '/register',
      json: {
        redirect_uris: [callback, 'com.example.app:/back', 'https://app.example/back'],
        client_name: 'Fuzz',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope: 'mcp',
        client_uri: 'https://app.example',
        logo_uri: 'https://app.example/l.png',
        contacts: ['a@b.example'],
        jwks: { keys: [] },
        software_id: 'x',
      },
    }),
    () => ({
      method: choose.of(['GET', 'PUT', 'DELETE']),
      path: `/register/${client_id}`,
      headers: { authorization: `Bearer ${one('access_token')}` },
    }),
    () => ({ method: 'POST', path: '/device_authorization', form: { client_id, scope: 'mcp', resource } }),
  ];
}

/** Pages of sign-ins, accounts and connections. */
function pageRecipes({ issuer, one, choose, client_id, cookie, own }: Given): Recipes {
  const page = `/interaction/${one('interaction')}`;
  return [
    () => ({ method: 'GET', path: '/device', query: { user_code: one('user_code') }, headers: cookie }),
    () => ({
      method: 'POST',
      path: '/device',
      form: { xsrf: one('xsrf'), user_code: one('user_code'), confirm: 'yes' },
      headers: own,
    }),
    () => ({ method: 'GET', path: page, headers: cookie }),
    () => ({
      method: 'POST',
      path: `${page}/login`,
      form: { name: choose.of(['ann', 'nobody', '']), password: 'wrong' },
      headers: own,
    }),
    () => ({
      method: 'POST',
      path: `${page}/${choose.of(['consent', 'deny', 'abort', 'other', 'federation'])}`,
      form: {},
      headers: own,
    }),
    () => ({
      method: 'GET',
      path: '/federation/callback',
      query: {
        code: 'x',
        state: one('interaction'),
        iss: issuer,
        error: choose.of(['access_denied', '']),
        error_description: 'no',
      },
      headers: cookie,
    }),
    () => ({
      method: choose.of(['GET', 'POST']),
      path: '/federation/logout',
      form: { logout_token: one('access_token') },
      query: { iss: issuer, sid: 'x' },
    }),
    () => ({
      method: 'GET',
      path: choose.of(['/account', '/account/back', '/account/x']),
      query: { code: one('code'), state: 'st', iss: issuer },
      headers: cookie,
    }),
    () => ({
      method: 'POST',
      path: `/account/${choose.of(['revoke', 'sign-out', 'signout', 'disconnect', 'x'])}`,
      form: { grant: one('interaction'), client: client_id, server: 'innocent', xsrf: one('xsrf') },
      headers: own,
    }),
  ];
}

/** Documents, endpoints, and addresses that may not be there. */
function otherRecipes({ issuer, one, choose, cookie, own }: Given): Recipes {
  return [
    () => ({
      method: 'GET',
      path: `/connect/${choose.of(['back', 'server', 'client.json', one('interaction')])}`,
      query: { code: 'x', state: one('interaction'), iss: issuer },
      headers: cookie,
    }),
    () => ({ method: 'POST', path: `/connect/${one('interaction')}`, form: { code: 'BCDF-GHJK' }, headers: own }),
    () => ({
      method: 'GET',
      path: choose.of([
        '/.well-known/oauth-authorization-server',
        '/.well-known/openid-configuration',
        '/.well-known/jwks.json',
        '/.well-known/oauth-protected-resource',
        '/.well-known/oauth-protected-resource/mcp',
        '/.well-known/oauth-protected-resource/mcp/innocent',
        '/.well-known/oauth-authorization-server/mcp',
        '/.well-known/openid-configuration/mcp',
      ]),
    }),
    () => ({
      method: choose.of(['POST', 'GET', 'DELETE']),
      path: choose.of(['/mcp', '/mcp/innocent', '/sse', '/mcp/none']),
      json: { jsonrpc: '2.0', id: 1, method: 'ping' },
      headers: { authorization: `Bearer ${one('access_token')}`, accept: 'application/json, text/event-stream' },
    }),
    () => ({
      method: 'GET',
      path: choose.of([
        '/',
        '/favicon.ico',
        '/robots.txt',
        '/token',
        '/revoke',
        '/userinfo',
        '/introspect',
        '/session/end',
        '/me',
        '/par',
        '/backchannel',
      ]),
      headers: cookie,
    }),
  ];
}

/** @param issuer the gateway's address. */
export function webRequest(
  issuer: string,
  { one }: { readonly one: (kind: string) => string },
  choose: Chooser,
): WebRequest {
  const cookie = { cookie: one('cookie') };
  const given: Given = {
    issuer,
    one,
    choose,
    client_id: one('client_id'),
    resource: `${issuer}/mcp`,
    cookie,
    own: { ...cookie, origin: issuer },
  };
  return choose.of([tokenRecipes, programRecipes, pageRecipes, otherRecipes].flatMap((recipes) => recipes(given)))();
}
