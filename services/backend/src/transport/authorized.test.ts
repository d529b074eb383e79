/** Requests to servers that demand tokens: an adapter, a server and an issuer that communicate over HTTP. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createHash } from 'node:crypto';
import { decodeJwt, EmbeddedJWK, exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import { describe, expect, it, vi } from 'vitest';
import type { SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, type HeardByServer } from '../adapter-under-test.ts';

interface Asked {
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
  readonly proof?: string;
}

/** An issuer that gives a new token for each request. */
class Issuer implements AsyncDisposable {
  readonly asked: Asked[] = [];
  /** The answer instead of a token. */
  says: ((asked: Asked) => { readonly status: number; readonly body: object } | undefined) | undefined;
  lifeSeconds = 3_600;
  /** Binds tokens to keys, and demands this nonce in each proof. */
  nonce: string | undefined;
  /** The token endpoint in its metadata; undefined: its own. */
  tokenEndpoint: string | undefined;
  #count = 0;
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<Issuer> {
    const issuer = new Issuer();
    issuer.#server.listen(0, '127.0.0.1');
    await once(issuer.#server, 'listening');
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get newest(): string {
    return `token-${this.#count}`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/.well-known/oauth-authorization-server') {
      answer(200, {
        issuer: this.url,
        token_endpoint: this.tokenEndpoint ?? `${this.url}/token`,
        token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt'],
        ...(this.nonce === undefined ? {} : { dpop_signing_alg_values_supported: ['ES256'] }),
      });
      return;
    }
    if (request.url !== '/token') {
      answer(404, {});
      return;
    }
    const { authorization, dpop: proof } = request.headers;
    const asked: Asked = {
      form: new URLSearchParams(await text(request)),
      authorization,
      ...(typeof proof === 'string' ? { proof } : {}),
    };
    this.asked.push(asked);
    const instead = this.says?.(asked);
    if (instead !== undefined) {
      answer(instead.status, instead.body);
      return;
    }
    if (typeof proof === 'string' && decodeJwt(proof)['nonce'] !== this.nonce) {
      response.setHeader('dpop-nonce', this.nonce ?? '');
      answer(400, { error: 'use_dpop_nonce' });
      return;
    }
    this.#count += 1;
    answer(200, {
      access_token: this.newest,
      token_type: typeof proof === 'string' ? 'DPoP' : 'Bearer',
      expires_in: this.lifeSeconds,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.#server[Symbol.asyncDispose]();
  }
}

const somebody = 'somebody' as SessionKey;
const secret = 'the-client-secret';
const client = (issuer: Issuer, more: object = {}): object => ({
  credentials: { kind: 'client', clientId: 'gateway', clientSecret: secret, issuer: issuer.url, ...more },
});

/** A server that accepts only the newest token of an issuer. */
const wanting =
  (issuer: Issuer, refused: HeardByServer[] = []) =>
  (message: HeardByServer, response: ServerResponse): undefined => {
    if (message.authorization === `Bearer ${issuer.newest}`) return undefined;
    refused.push(message);
    response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end(`no: ${message.authorization}`);
    return undefined;
  };

describe('a server that is called in the name of the gateway', () => {
  it('is shown one token by everybody, which was asked for once, for this server alone', async () => {
    await using issuer = await Issuer.start();
    await using under = await AdapterUnderTest.start(
      { says: wanting(issuer) },
      client(issuer, { scopes: ['read', 'write'] }),
    );
    await expect.poll(() => under.tools).toEqual(['act']);
    const answers = await Promise.all([1, 2, 3].map(() => under.call(somebody, 'tools/call', { name: 'act' })));
    expect(answers.map(({ kind }) => kind)).toEqual(['result', 'result', 'result']);
    expect(issuer.asked).toHaveLength(1);
    const { form } = issuer.asked[0] as Asked;
    expect(Object.fromEntries(form)).toMatchObject({
      grant_type: 'client_credentials',
      client_id: 'gateway',
      client_secret: secret,
      scope: 'read write',
    });
    expect(form.get('resource')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  });

  it('that refuses calls in the middle is called again once each, with one fresh token, and does each once', async () => {
    await using issuer = await Issuer.start();
    const done: string[] = [];
    let good = 'token-1';
    await using under = await AdapterUnderTest.start(
      {
        says: (message, response) => {
          if (message.authorization !== `Bearer ${good}`)
            response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
          else if (message.method === 'tools/call') done.push(String(message.params?.['name']));
          return undefined;
        },
      },
      client(issuer),
    );
    await expect.poll(() => under.tools).toEqual(['act']);
    good = 'token-2';
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((name) => under.call(somebody, 'tools/call', { name })),
    );
    expect(answers.map(({ kind }) => kind)).toEqual(['result', 'result', 'result']);
    expect(done.toSorted()).toEqual(['one', 'three', 'two']);
    expect(issuer.asked).toHaveLength(2);
  });

  it('that goes on refusing is asked no more than twice for one call, and what it repeats of the token reaches nobody', async () => {
    await using issuer = await Issuer.start();
    let isOpen = true;
    const heard: HeardByServer[] = [];
    await using under = await AdapterUnderTest.start(
      {
        says: (message, response) => {
          if (isOpen) return undefined;
          heard.push(message);
          response.writeHead(401, { 'content-type': 'application/json' }).end(
            JSON.stringify({
              jsonrpc: '2.0',
              id: message.id,
              error: { code: -32_000, message: `who is ${message.authorization}?` },
            }),
          );
          return undefined;
        },
      },
      client(issuer),
    );
    await expect.poll(() => under.tools).toEqual(['act']);
    isOpen = false;
    const answer = await under.call(somebody, 'tools/call', { name: 'act' });
    expect(heard.filter(({ method }) => method === 'tools/call')).toHaveLength(2);
    expect(answer).toMatchObject({ kind: 'error', error: { message: 'who is Bearer [secret]?' } });
  });

  it('is down with the word of the issuer that gives no token, and with none of its sentences or our secrets', async () => {
    await using issuer = await Issuer.start();
    issuer.says = ({ form }) => ({
      status: 401,
      body: { error: 'invalid_client', error_description: `the secret ${form.get('client_secret')} is wrong` },
    });
    await using under = await AdapterUnderTest.start({ says: wanting(issuer) }, client(issuer));
    await expect.poll(() => under.record.problem).toBe(`the issuer ${issuer.url} gives no token: invalid_client`);
    expect(under.heard.values).toEqual([]);
    // The server is usable again when the issuer is.
    issuer.says = undefined;
    await expect.poll(() => under.record.status).toBe('up');
  });

  it('is shown a token that an assertion was signed for where there is no secret', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    await using issuer = await Issuer.start();
    await using under = await AdapterUnderTest.start(
      { says: wanting(issuer) },
      {
        credentials: {
          kind: 'client',
          clientId: 'gateway',
          privateKey: await exportPKCS8(privateKey),
          issuer: issuer.url,
        },
      },
    );
    await expect.poll(() => under.tools).toEqual(['act']);
    const { form } = issuer.asked[0] as Asked;
    expect(form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    const { payload } = await jwtVerify(form.get('client_assertion') ?? '', publicKey, {
      audience: issuer.url,
      issuer: 'gateway',
      subject: 'gateway',
    });
    expect(payload.jti).toEqual(expect.any(String));
  });

  it('gets a token of which a part of the life is over replaced while it is still good', async () => {
    await using issuer = await Issuer.start();
    issuer.lifeSeconds = 2;
    await using under = await AdapterUnderTest.start({}, client(issuer));
    await expect.poll(() => under.tools).toEqual(['act']);
    // Only calls cause it: tokens are not requested unless they are used.
    await vi.waitFor(
      async () => {
        await under.call(somebody, 'tools/call', { name: 'act' });
        expect(issuer.asked.length).toBeGreaterThan(1);
      },
      { timeout: 45_000 },
    );
    expect((await under.call(somebody, 'tools/call', { name: 'act' })).kind).toBe('result');
  });

  it.each([
    ['where clouds keep credentials', 'http://169.254.169.254/token', /token_endpoint is not an https:\/\/ address/],
    ['where clouds keep credentials, over TLS', 'https://169.254.169.254/token', /the address is not allowed/],
    ['at a number that is such an address', 'https://2852039166/token', /the address is not allowed/],
    ['without TLS', 'http://issuer.example/token', /token_endpoint is not an https:\/\/ address/],
  ])('does not lead the gateway to an address of its issuer %s', async (_where, named, problem) => {
    await using issuer = await Issuer.start();
    issuer.tokenEndpoint = named;
    await using under = await AdapterUnderTest.start({}, client(issuer));
    await expect.poll(() => under.record.problem).toMatch(problem);
  });

  it('that names another issuer than the configuration does is given no token, and neither is that issuer', async () => {
    await using issuer = await Issuer.start();
    await using other = await Issuer.start();
    await using under = await AdapterUnderTest.start(
      {
        get: (response, request) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(
              JSON.stringify({ resource: `http://${request.headers.host}/mcp`, authorization_servers: [other.url] }),
            ),
      },
      client(issuer),
    );
    await expect.poll(() => under.record.problem).toMatch(/trusts other issuers/);
    expect([...issuer.asked, ...other.asked]).toEqual([]);
  });

  it('that says it is another one is given no token', async () => {
    await using issuer = await Issuer.start();
    await using under = await AdapterUnderTest.start(
      {
        get: (response) =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ resource: 'https://other.example/mcp', authorization_servers: [issuer.url] })),
      },
      client(issuer),
    );
    await expect.poll(() => under.record.problem).toMatch(/is about another server/);
    expect(issuer.asked).toEqual([]);
  });

  it('that accepts only tokens bound to a key is shown one with a proof for each request, and each call is executed once although nonces change', async () => {
    await using issuer = await Issuer.start();
    issuer.nonce = 'of-the-issuer';
    let nonce = 'first';
    const proofs: { readonly jti: unknown; readonly key: unknown }[] = [];
    const wrong: unknown[] = [];
    const done: string[] = [];
    const checks: Promise<void>[] = [];
    await using under = await AdapterUnderTest.start(
      {
        says: (message, response, request) => {
          const [scheme, token = ''] = message.authorization?.split(' ') ?? [];
          const proof = request.headers['dpop'];
          if (scheme !== 'DPoP' || token !== issuer.newest || typeof proof !== 'string') {
            response.writeHead(401, { 'www-authenticate': 'DPoP algs="ES256"' }).end();
            return undefined;
          }
          if (decodeJwt(proof)['nonce'] !== nonce) {
            response.writeHead(401, { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': nonce }).end();
            return undefined;
          }
          checks.push(
            jwtVerify(proof, EmbeddedJWK, { typ: 'dpop+jwt' }).then(
              ({ payload, protectedHeader }) => {
                proofs.push({ jti: payload.jti, key: protectedHeader.jwk?.x });
                const expected = {
                  htm: request.method,
                  htu: `http://${request.headers.host}/mcp`,
                  ath: createHash('sha256').update(token).digest('base64url'),
                };
                if (
                  Object.entries(expected).some(([name, value]) => payload[name] !== value) ||
                  'd' in (protectedHeader.jwk ?? {})
                )
                  wrong.push(payload);
              },
              (error: unknown) => void wrong.push(error),
            ),
          );
          if (message.method === 'tools/call') done.push(String(message.params?.['name']));
          return undefined;
        },
      },
      client(issuer),
    );
    await expect.poll(() => under.tools).toEqual(['act']);
    nonce = 'second';
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((name) => under.call(somebody, 'tools/call', { name })),
    );
    expect(answers.map(({ kind }) => kind)).toEqual(['result', 'result', 'result']);
    expect(done.toSorted()).toEqual(['one', 'three', 'two']);
    await Promise.all(checks);
    expect(wrong).toEqual([]);
    expect(new Set(proofs.map(({ jti }) => jti)).size).toBe(proofs.length);
    expect(new Set(proofs.map(({ key }) => key)).size).toBe(1);
    // The first without a proof, since the server had not demanded one yet; then with one; then with the nonce.
    expect(issuer.asked.map(({ proof }) => proof !== undefined)).toEqual([false, true, true]);
  });
});
