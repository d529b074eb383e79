/** An authorization server as far as a resource server sees one: metadata, keys that rotate, tokens, and answers about opaque ones. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTHeaderParameters } from 'jose';

interface SigningKey {
  readonly kid: string;
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
  readonly jwk: JWK;
}

export class StandInIssuer {
  readonly #server: Server;
  #keys: readonly SigningKey[] = [];
  #published: readonly JWK[] = [];
  #port = 0;
  /** Its answers about opaque tokens. */
  readonly opaque = new Map<string, object>();
  /** Requested paths. */
  readonly asked: string[] = [];
  /** Wrong members of its metadata. */
  saysInstead: object = {};
  /** Its metadata as an OpenID provider; undefined where it is none. */
  openId: object | undefined;
  /** Metadata are at another place. */
  redirectsTo: string | undefined;
  /** It answers nothing but 500. */
  isBroken = false;
  /** It answers nothing at all. */
  isSilent = false;

  static async start(): Promise<StandInIssuer> {
    const issuer = new StandInIssuer();
    await issuer.rotate();
    issuer.#server.listen(0, '127.0.0.1');
    await once(issuer.#server, 'listening');
    issuer.#port = (issuer.#server.address() as AddressInfo).port;
    return issuer;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      const { url = '/' } = request;
      this.asked.push(url);
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        if (this.isSilent) return;
        if (this.redirectsTo !== undefined) {
          response.writeHead(302, { location: this.redirectsTo }).end();
          return;
        }
        const answer = this.isBroken ? undefined : this.#answer(url, body);
        response
          .writeHead(this.isBroken ? 500 : answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
          .end(JSON.stringify(answer ?? {}));
      });
    });
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The newest public key. */
  get publicKey(): JWK {
    return this.#published[0] as JWK;
  }

  /** Signs with a new key from now on. @param isPublished whether others can know it. */
  async rotate(isPublished = true): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const kid = `key-${this.#keys.length + 1}`;
    const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' };
    this.#keys = [{ kid, privateKey, jwk }, ...this.#keys];
    if (isPublished) this.#published = [jwk, ...this.#published];
  }

  /** Takes a key out of those that others can know. */
  withdraw({ kid }: JWK): void {
    this.#published = this.#published.filter((key) => key.kid !== kid);
  }

  /** A token of this issuer; a claim that is undefined is left out. */
  token(claims: Readonly<Record<string, unknown>>, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    const { kid, privateKey } = this.#keys[0] as SigningKey;
    const now = Math.floor(Date.now() / 1_000);
    const all = Object.entries({ iss: this.issuer, iat: now, exp: now + 300, ...claims }).filter(
      ([, value]) => value !== undefined,
    );
    return new SignJWT(Object.fromEntries(all))
      .setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt', ...header })
      .sign(privateKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.#server[Symbol.asyncDispose]();
  }

  #answer(url: string, body: string): object | undefined {
    switch (url) {
      case '/.well-known/oauth-authorization-server':
        return {
          issuer: this.issuer,
          jwks_uri: `${this.issuer}/keys`,
          authorization_endpoint: `${this.issuer}/authorize`,
          token_endpoint: `${this.issuer}/token`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          ...this.saysInstead,
        };
      case '/.well-known/openid-configuration':
        return this.openId;
      case '/keys':
        return { keys: this.#published };
      case '/introspect':
        return this.opaque.get(new URLSearchParams(body).get('token') ?? '') ?? { active: false };
      default:
        return undefined;
    }
  }
}
