import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** A stand-in for an OpenID provider: every user is "una", and is redirected back at once. */
export class StandInProvider {
  readonly #server: Server;
  readonly #keys = generateKeyPair('ES256', { extractable: true });
  /** Claims of its next ID tokens. */
  claims: Readonly<Record<string, unknown>> = { sub: 'una', org: 'acme', sid: 'session-1' };
  givesRefreshTokens = true;
  isSignedOut = false;
  /** The refresh token of the last sign-in, and the used ones since. */
  refreshTokens: { readonly given: string; readonly used: readonly unknown[] } = { given: '', used: [] };
  /** Answers to refreshes wait for this. */
  mayRefresh: Promise<void> = Promise.resolve();
  /** Whether it answers nothing but HTTP 503. */
  isDown = false;
  /** Its answer to the redemption of a code; undefined if it issues tokens. */
  refusal: { readonly status: number; readonly answer: object } | undefined;
  /** Parameters with which it sends the browser back; undefined where it signs the user in. */
  error: Readonly<Record<string, string>> | undefined;
  #nonce = '';

  constructor() {
    this.#server = createServer((request, response) => {
      void (async (): Promise<void> => {
        const { status, answer } = await this.#answer(request.url ?? '', new URLSearchParams(await text(request)));
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      })();
    });
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The address to which the provider redirects the browser. */
  signedIn(address: URL): string {
    this.#nonce = address.searchParams.get('nonce') ?? '';
    const answer = new URLSearchParams({
      ...(this.error ?? { code: 'c' }),
      state: address.searchParams.get('state') ?? '',
    });
    return `${address.searchParams.get('redirect_uri') ?? ''}?${answer.toString()}`;
  }

  async token(claims: object, typ = 'JWT'): Promise<string> {
    const { privateKey } = await this.#keys;
    return new SignJWT({ iss: this.issuer, aud: 'omnibus', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k', typ })
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey);
  }

  async #answer(path: string, form: URLSearchParams): Promise<{ readonly status: number; readonly answer: object }> {
    if (this.isDown) return { status: 503, answer: {} };
    if (path === '/.well-known/openid-configuration') {
      const { issuer } = this;
      return {
        status: 200,
        answer: {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          id_token_signing_alg_values_supported: ['ES256'],
          subject_types_supported: ['public'],
        },
      };
    }
    if (path === '/keys')
      return {
        status: 200,
        answer: { keys: [{ ...(await exportJWK((await this.#keys).publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }] },
      };
    if (path !== '/token') return { status: 404, answer: {} };
    const isFirst = form.get('grant_type') === 'authorization_code';
    if (isFirst && this.refusal !== undefined) return this.refusal;
    const refreshToken = randomBytes(8).toString('hex');
    this.refreshTokens = isFirst
      ? { given: refreshToken, used: [] }
      : { ...this.refreshTokens, used: [...this.refreshTokens.used, form.get('refresh_token')] };
    if (!isFirst) await this.mayRefresh;
    if (!isFirst && this.isSignedOut) return { status: 400, answer: { error: 'invalid_grant' } };
    return {
      status: 200,
      answer: {
        access_token: 'at',
        token_type: 'bearer',
        expires_in: 2,
        id_token: await this.token({ ...this.claims, ...(isFirst ? { nonce: this.#nonce } : {}) }),
        ...(this.givesRefreshTokens ? { refresh_token: refreshToken } : {}),
      },
    };
  }
}
