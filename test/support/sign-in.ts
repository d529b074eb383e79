/** A client of an authorization server, and the browser of its user, both by fetch, so that a test can inspect every step and do it wrong. */
import { createHash, randomBytes } from 'node:crypto';

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A browser that keeps cookies by path, and follows redirects until it shows a page, or reaches an address of another site. */
export class Browser {
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string; readonly host: string }>();

  /** @param stopAt the beginning of addresses that are not requested. */
  async open(
    address: string,
    stopAt = 'http://127.0.0.1:1/',
    form?: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    let url = new URL(address);
    let body = form === undefined ? undefined : new URLSearchParams(form).toString();
    for (let steps = 0; steps < 20; steps += 1) {
      const response = await fetch(url, {
        redirect: 'manual',
        method: body === undefined ? 'GET' : 'POST',
        body: body ?? null,
        headers: {
          accept: 'text/html',
          cookie: this.#cookiesFor(url),
          ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded', origin: url.origin }),
          ...headers,
        },
      });
      this.#keep(response.headers.getSetCookie(), url);
      const text = await response.text();
      const location = response.headers.get('location');
      if (location === null) return { url: url.href, status: response.status, headers: response.headers, text };
      url = new URL(location, url);
      body = undefined;
      if (url.href.startsWith(stopAt))
        return { url: url.href, status: response.status, headers: response.headers, text };
    }
    throw new Error(`redirected for ever, at last to ${url.href}`);
  }

  /** Submits the form of a page with that ending of its address. */
  submit(
    page: Page,
    action: string,
    fields: Readonly<Record<string, string>> = {},
    stopAt?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    const form = [...page.text.matchAll(/<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/g)].find(
      ([, to = '']) => to.endsWith(action),
    );
    if (form === undefined)
      throw new Error(`there is no form "${action}" at ${page.url} (${page.status}):\n${page.text}`);
    const hidden = Object.fromEntries(
      [...(form[2] as string).matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
        ([, name = '', value = '']) => [name, value],
      ),
    );
    return this.open(new URL(form[1] as string, page.url).href, stopAt, { ...hidden, ...fields }, headers);
  }

  get cookiePaths(): readonly string[] {
    return [...this.#cookies.values()].map(({ path }) => path);
  }

  get cookieNames(): readonly string[] {
    return [...this.#cookies.values()].map(({ value }) => value.split('=', 1)[0] as string);
  }

  #cookiesFor({ pathname, hostname }: URL): string {
    return [...this.#cookies.values()]
      .filter(
        ({ path, host }) =>
          host === hostname && (pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)),
      )
      .map(({ value }) => value)
      .join('; ');
  }

  #keep(lines: readonly string[], { hostname }: URL): void {
    for (const line of lines) {
      const [value = '', ...attributes] = line.split(/;\s*/);
      const path = attributes.find((each) => each.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
      const key = `${hostname} ${path} ${value.split('=', 1)[0] as string}`;
      const expires = attributes.find((each) => each.toLowerCase().startsWith('expires='))?.slice(8);
      if (expires !== undefined && Date.parse(expires) < Date.now()) this.#cookies.delete(key);
      else this.#cookies.set(key, { value, path, host: hostname });
    }
  }
}

/** The redirect address of the test's client, at which no server listens: the browser stops there. */
export const callback = 'http://127.0.0.1:1/callback';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly id_token?: string;
}

export interface Said {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export class OAuthClient {
  readonly issuer: string;
  readonly id: string;
  readonly verifier = randomBytes(32).toString('base64url');
  readonly state = randomBytes(9).toString('base64url');

  constructor(issuer: string, id: string) {
    this.issuer = issuer;
    this.id = id;
  }

  static async register(issuer: string, metadata: object = {}): Promise<OAuthClient> {
    const { status, body } = await register(issuer, {
      redirect_uris: [callback],
      client_name: 'Test client',
      token_endpoint_auth_method: 'none',
      ...metadata,
    });
    if (status !== 201) throw new Error(`registration was answered ${status}: ${JSON.stringify(body)}`);
    return new OAuthClient(issuer, body['client_id'] as string);
  }

  /** @param more parameters; undefined leaves one out. */
  authorizeUrl(more: Readonly<Record<string, string | undefined>> = {}): string {
    const parameters = {
      client_id: this.id,
      response_type: 'code',
      redirect_uri: callback,
      state: this.state,
      resource: `${this.issuer}/mcp`,
      scope: 'mcp',
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    };
    const query = new URLSearchParams(
      Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    return `${this.issuer}/authorize?${query.toString()}`;
  }

  token(form: Readonly<Record<string, string>>): Promise<Said> {
    return post(
      `${this.issuer}/token`,
      new URLSearchParams({ client_id: this.id, ...form }).toString(),
      'application/x-www-form-urlencoded',
    );
  }

  redeem(code: string, more: Readonly<Record<string, string>> = {}): Promise<Said> {
    return this.token({
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      code_verifier: this.verifier,
      ...more,
    });
  }

  refresh(token: string, more: Readonly<Record<string, string>> = {}): Promise<Said> {
    return this.token({ grant_type: 'refresh_token', refresh_token: token, ...more });
  }

  /** Signs in, where a page asks for it, and consents. @returns the redirect address for the client. */
  async allow(
    browser: Browser,
    name: string,
    password: string,
    more: Readonly<Record<string, string | undefined>> = {},
  ): Promise<URL> {
    let page = await browser.open(this.authorizeUrl(more), callback);
    if (page.text.includes('type="password"'))
      page = await browser.submit(page, '/login', { name, password }, callback);
    if (!page.url.startsWith(callback)) page = await browser.submit(page, '/consent', {}, callback);
    return new URL(page.url);
  }

  /** Signs in, consents, and redeems the code. */
  async signIn(
    browser: Browser,
    name: string,
    password: string,
    more: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Tokens> {
    const answer = await this.allow(browser, name, password, more);
    const { status, body } = await this.redeem(answer.searchParams.get('code') ?? '');
    if (status !== 200) throw new Error(`${answer.href} was redeemed with ${status}: ${JSON.stringify(body)}`);
    return body as unknown as Tokens;
  }
}

export function register(
  issuer: string,
  metadata: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Said> {
  return post(`${issuer}/register`, JSON.stringify(metadata), 'application/json', headers);
}

async function post(
  url: string,
  body: string,
  type: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Said> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': type, accept: 'application/json', ...headers },
    body,
  });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

/** The header with the access token. */
export function bearer({ access_token: token }: Tokens): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` };
}

/** The claims of an access token, unverified. */
export function claimsOf({ access_token: token }: Tokens): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as Readonly<
    Record<string, unknown>
  >;
}
