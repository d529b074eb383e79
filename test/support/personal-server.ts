/**
 * A server with different data for each user, which is its own issuer. It returns the user of the token of each call, has a tool for each user that is
 * shown to that user only, and notes faults: a session or a token of one user in the request of another.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { accountPage } from './account-page.ts';
import { StandInServer } from './stand-in-server.ts';

export interface PersonalOptions {
  /** Whether its issuer asks on a page which account is meant, at another host name than the gateway's, since a browser treats both as different sites. Left out, it asks nothing. */
  readonly hasPages?: boolean;
  /** Whether it speaks only 2026-07-28. */
  readonly isModern?: boolean;
  /** Whether it, and its issuer, repeat everything that they were sent: a refused request in the error, a call in a result that is an error. */
  readonly isTalkative?: boolean;
  /** Whether it and its issuer take and give only tokens that are bound to a key (DPoP). Proofs are not verified. */
  readonly wantsProof?: boolean;
  /** A scope without which it refuses its lists (HTTP 403). */
  readonly listScope?: string;
  /** A scope without which it refuses calls (HTTP 403), and which its issuer grants to no user. */
  readonly callScope?: string;
  /** Takes what another issuer has said of a user, in the place of a sign-in. @returns the user, or an error code. */
  readonly redeem?: (
    form: URLSearchParams,
    authorization: string,
  ) => Promise<{ readonly user: string } | { readonly error: string }>;
}

interface Given {
  readonly user: string;
  isGood: boolean;
}

const modern = '2026-07-28';

interface Answering {
  readonly json: (status: number, value: object, headers?: Readonly<Record<string, string>>) => void;
  readonly refuse: (status: number, error: string) => void;
  /** What a talkative issuer says again of the request; empty otherwise. */
  readonly repeated: string;
}

export class PersonalServer extends StandInServer {
  readonly #options: PersonalOptions;
  readonly #codes = new Map<string, string>();
  readonly #access = new Map<string, Given>();
  readonly #refresh = new Map<string, string>();
  readonly #sessions = new Map<string, string>();
  /** Users that have allowed the scope for lists. */
  readonly #listers = new Set<string>();
  /** The tokens of calls to it. */
  readonly shown = new Set<string>();
  /** All secrets so far. */
  readonly secrets: string[] = [];
  /** The observed faults. */
  readonly violations: string[] = [];
  /** Number of executions by the mark in the call. */
  readonly executed = new Map<string, number>();
  /** Tokens that were revoked at the issuer. */
  readonly revoked: string[] = [];
  /** Whether its issuer refuses every registration and every request for tokens. */
  isClosed = false;
  /** Whether its issuer cannot answer requests for tokens at the moment. */
  isDown = false;
  /** Number of uses of refresh tokens. */
  refreshes = 0;
  /** Runs before a refresh token is answered. */
  meanwhile: () => Promise<unknown> = () => Promise.resolve();

  private constructor(options: PersonalOptions) {
    super();
    this.#options = options;
  }

  static start(options: PersonalOptions = {}): Promise<PersonalServer> {
    return new PersonalServer(options).listen();
  }

  get origin(): string {
    return `http://${this.#options.hasPages === true ? 'localhost' : '127.0.0.1'}:${this.port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Takes a token that the issuer has not given. */
  admit(token: string, user: string): void {
    this.#access.set(token, { user, isGood: true });
  }

  /** Signs the user in at the issuer, in the place of a browser. */
  signsInAs(user: string): (to: string) => string {
    return (to) => (to.startsWith(`${this.origin}/authorize`) ? `${to}&login=${user}` : to);
  }

  /** The user's access tokens expire; refresh tokens stay valid. */
  expire(user: string): void {
    for (const given of this.#access.values()) if (given.user === user) given.isGood = false;
  }

  /** All tokens of the user are revoked. */
  revoke(user: string): void {
    this.expire(user);
    for (const [token, of] of this.#refresh) if (of === user) this.#refresh.delete(token);
  }

  #secret(kind: string): string {
    const made = `${kind}-${randomBytes(12).toString('hex')}`;
    this.secrets.push(made);
    return made;
  }

  #tokensFor(user: string): object {
    const [access, refresh] = [this.#secret('access'), this.#secret('refresh')];
    this.#access.set(access, { user, isGood: true });
    this.#refresh.set(refresh, user);
    return {
      access_token: access,
      refresh_token: refresh,
      token_type: this.#options.wantsProof === true ? 'DPoP' : 'Bearer',
      expires_in: 3_600,
    };
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const json = (status: number, value: object, headers: Readonly<Record<string, string>> = {}): void =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    const { origin } = this;
    const { wantsProof = false } = this.#options;
    const url = new URL(request.url ?? '/', origin);
    const repeated =
      this.#options.isTalkative === true ? `${url.search} ${JSON.stringify(request.headers)} ${body}` : '';
    const refuse = (status: number, error: string): void =>
      json(
        status,
        repeated === '' ? { error } : { error, error_description: repeated, error_uri: `${origin}/?${repeated}` },
      );
    switch (url.pathname) {
      case '/meta':
        return json(200, {
          resource: `${origin}/mcp`,
          authorization_servers: [origin],
          scopes_supported: ['use'],
          dpop_bound_access_tokens_required: wantsProof,
        });
      case '/.well-known/oauth-authorization-server':
        return json(200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          revocation_endpoint: `${origin}/revoke`,
          code_challenge_methods_supported: ['S256'],
          ...(wantsProof ? { dpop_signing_alg_values_supported: ['ES256'] } : {}),
          authorization_response_iss_parameter_supported: true,
        });
      case '/register':
        if (this.isClosed) return refuse(403, 'access_denied');
        return json(201, {
          client_id: 'registered',
          client_secret: this.#secret('client'),
          ...(JSON.parse(body) as object),
        });
      case '/revoke':
        this.revoked.push(new URLSearchParams(body).get('token') ?? '');
        return json(200, {});
      case '/authorize':
        return this.#authorize(url, response);
      case '/token':
        return this.#token(new URLSearchParams(body), request, { json, refuse, repeated });
      case '/mcp':
        break;
      default:
        return json(404, {});
    }
    return this.#receive({ request, response }, body, { json, refuse, repeated });
  }

  /** A request to the MCP server. */
  #receive({ request, response }: Exchange, body: string, { json, refuse, repeated }: Answering): void {
    const { origin } = this;
    const { wantsProof = false } = this.#options;
    if (request.method === 'DELETE') return void response.writeHead(200).end();
    if (request.method !== 'POST') return void response.writeHead(405).end();
    this.shown.add(request.headers.authorization ?? '');
    const given = this.#access.get(
      (wantsProof ? /^DPoP (.+)$/ : /^Bearer (.+)$/).exec(request.headers.authorization ?? '')?.[1] ?? '',
    );
    if (wantsProof && given !== undefined && request.headers['dpop'] === undefined)
      this.violations.push('a token without a proof');
    if (given?.isGood !== true) {
      response.setHeader(
        'www-authenticate',
        `Bearer resource_metadata="${origin}/meta"${repeated === '' ? '' : `, error_description="${(request.headers.authorization ?? '').replaceAll('"', '')}"`}`,
      );
      return refuse(401, 'invalid_token');
    }
    const message = JSON.parse(body) as Message;
    const { listScope, callScope } = this.#options;
    const lacking =
      message.method === 'tools/list' && !this.#listers.has(given.user)
        ? listScope
        : message.method === 'tools/call'
          ? callScope
          : undefined;
    if (lacking !== undefined) {
      response.setHeader(
        'www-authenticate',
        `Bearer error="insufficient_scope", scope="${lacking}", resource_metadata="${origin}/meta"`,
      );
      return refuse(403, 'insufficient_scope');
    }
    this.#answer(given.user, { request, response }, message, json, repeated);
  }

  /** Sends the browser of a user back to its client. */
  #authorize(url: URL, response: ServerResponse): void {
    const { origin } = this;
    if (this.#options.hasPages === true && !url.searchParams.has('answer'))
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(accountPage(url.searchParams));
    const to = new URL(url.searchParams.get('redirect_uri') ?? '');
    if (url.searchParams.get('answer') === 'decline') {
      for (const [name, value] of [
        ['error', 'access_denied'],
        ['state', url.searchParams.get('state') ?? ''],
        ['iss', origin],
      ] as const)
        to.searchParams.set(name, value);
      return void response.writeHead(302, { location: to.href }).end();
    }
    const code = this.#secret('code');
    const user = url.searchParams.get('login') ?? 'nobody';
    this.#codes.set(code, user);
    if (
      url.searchParams
        .get('scope')
        ?.split(' ')
        .includes(this.#options.listScope ?? '') === true
    )
      this.#listers.add(user);
    for (const [name, value] of [
      ['code', code],
      ['state', url.searchParams.get('state') ?? ''],
      ['iss', origin],
    ] as const)
      to.searchParams.set(name, value);
    return void response.writeHead(302, { location: to.href }).end();
  }

  async #token(form: URLSearchParams, request: IncomingMessage, { json, refuse, repeated }: Answering): Promise<void> {
    if (this.#options.redeem !== undefined) {
      const redeemed = await this.#options.redeem(form, request.headers.authorization ?? '');
      if ('error' in redeemed)
        return json(400, { error: redeemed.error, error_description: `no, ${form.get('subject_token') ?? ''}` });
      const { refresh_token: _none, ...given } = this.#tokensFor(redeemed.user) as Readonly<Record<string, unknown>>;
      return json(200, { ...given, issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' });
    }
    const isRefresh = form.get('grant_type') === 'refresh_token';
    this.secrets.push(...['code_verifier', 'client_assertion', 'assertion'].flatMap((each) => form.get(each) ?? []));
    if (form.get('grant_type') === 'client_credentials')
      return this.isClosed
        ? refuse(401, 'invalid_client')
        : json(200, this.#tokensFor(form.get('client_id') ?? 'team'));
    if (this.isDown) return refuse(503, 'temporarily_unavailable');
    if (isRefresh) {
      this.refreshes += 1;
      await this.meanwhile();
    }
    const [store, name] = isRefresh ? ([this.#refresh, 'refresh_token'] as const) : ([this.#codes, 'code'] as const);
    const user = store.get(form.get(name) ?? '');
    store.delete(form.get(name) ?? '');
    // The most talkative issuers repeat what they refuse in the code of the error.
    return user === undefined || this.isClosed
      ? refuse(400, repeated === '' ? 'invalid_grant' : (form.get(name) ?? ''))
      : json(200, this.#tokensFor(user));
  }

  #answer(
    user: string,
    { request, response }: Exchange,
    { id, method, params = {} }: Message,
    json: (status: number, value: object, headers?: Readonly<Record<string, string>>) => void,
    repeated: string,
  ): void {
    const { isModern = false } = this.#options;
    const session = request.headers['mcp-session-id'] as string | undefined;
    if (session !== undefined && this.#sessions.get(session) !== user)
      this.violations.push(`the session of ${this.#sessions.get(session) ?? 'nobody'} with a token of ${user}`);
    if (id === undefined) return json(202, {});
    const answer = (result: object, headers: Readonly<Record<string, string>> = {}): void =>
      json(200, { jsonrpc: '2.0', id, result: isModern ? { resultType: 'complete', ...result } : result }, headers);
    if (method === 'initialize' && !isModern) {
      const made = this.#secret('session');
      this.#sessions.set(made, user);
      return answer(
        {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {}, resources: {}, logging: {} },
          serverInfo: { name: 'personal', version: '1' },
        },
        { 'mcp-session-id': made },
      );
    }
    if (method === 'server/discover' && isModern)
      return answer({ supportedVersions: [modern], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' });
    if (method === 'tools/list')
      return answer({
        tools: ['whose', `only_${user}`].map((name) => ({
          name,
          inputSchema: { type: 'object', properties: { mark: { type: 'string', pattern: `${user}|^\\w+$` } } },
        })),
        ...(isModern ? { ttlMs: 0, cacheScope: 'private' } : {}),
      });
    if (method === 'tools/call' && ['whose', `only_${user}`].includes(String(params['name']))) {
      const messages = this.#called(user, params, repeated);
      const { progressToken } = (params['_meta'] ?? {}) as { readonly progressToken?: unknown };
      if (progressToken === undefined || isModern) return answer(messages.result);
      const said = [
        { method: 'notifications/progress', params: { ...messages.progress, progressToken } },
        { method: 'notifications/message', params: messages.log },
        { id, result: messages.result },
      ];
      return void response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(said.map((each) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...each })}\n\n`).join(''));
    }
    if (method === 'tools/call')
      return json(200, {
        jsonrpc: '2.0',
        id,
        error: { code: -32_602, message: `Unknown tool: ${String(params['name'])}` },
      });
    const resources = this.#resources(user, method, String(params['uri']));
    if (resources !== undefined) return answer(resources);
    if (method === 'logging/setLevel' || method === 'ping') return answer({});
    return json(isModern ? 404 : 200, { jsonrpc: '2.0', id, error: { code: -32_601, message: `no ${method} here` } });
  }

  /** The outcome of a call, and messages during it. */
  #called(
    user: string,
    params: Readonly<Record<string, unknown>>,
    repeated: string,
  ): Readonly<Record<'result' | 'progress' | 'log', object>> {
    const { mark = '-' } = (params['arguments'] ?? {}) as { readonly mark?: string };
    this.executed.set(mark, (this.executed.get(mark) ?? 0) + 1);
    return {
      result: {
        content: [{ type: 'text', text: `${user} ${mark}${repeated}` }],
        ...(repeated === '' ? {} : { isError: true }),
      },
      progress: { progress: 1, message: `${user} ${mark} progresses` },
      log: { level: 'error', data: `${user} ${mark} is logged` },
    };
  }

  #resources(user: string, method: string, uri: string): object | undefined {
    if (method === 'resources/list')
      return {
        resources: [
          { uri: 'note://mine', name: 'mine' },
          { uri: `note://${user}`, name: `the note of ${user}` },
        ],
      };
    return method === 'resources/read' && ['note://mine', `note://${user}`].includes(uri)
      ? { contents: [{ uri, text: `${user} keeps this` }] }
      : undefined;
  }
}

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}
