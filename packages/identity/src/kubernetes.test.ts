/** Tokens of service accounts, with an API server over TLS that answers reviews as the real one does (authentication.k8s.io/v1). */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rootEndpoint } from '@omnibus/protocol';
import { Authenticator } from './authenticator.ts';
import type { Verdict } from './facts.ts';
import { forLoopback, StandInIssuer, TestAuthority } from './testing/index.ts';

const audience = 'https://mcp.example.com/mcp';
const account = {
  username: 'system:serviceaccount:team:agent',
  uid: 'u-1',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
};

let authority: TestAuthority;
let issuer: StandInIssuer;
let api: ApiServer;
let authenticator: Authenticator;
let tokenFile: string;
let warnings: string[];

interface Review {
  readonly spec: { readonly token: string; readonly audiences: readonly string[] };
}

class ApiServer {
  readonly server: Server;
  readonly reviews: Review['spec'][] = [];
  /** Tokens that it knows, with their audiences. */
  readonly known = new Map<string, readonly string[]>();
  mayReview = true;
  isBroken = false;
  /** What its paths begin with, as behind a proxy of several clusters. */
  prefix = '';
  /** It closes the connection of the next request without an answer, as when it is started again. */
  dropsNext = false;

  constructor(tls: { readonly cert: string; readonly key: string }) {
    this.server = createServer(
      { cert: tls.cert, key: tls.key },
      (request, response) => void this.#answer(request, response),
    );
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const say = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (this.dropsNext) {
      this.dropsNext = false;
      request.socket.destroy();
    } else if (this.isBroken) say(500, { kind: 'Status', code: 500 });
    else if (request.method !== 'POST' || request.url !== `${this.prefix}/apis/authentication.k8s.io/v1/tokenreviews`)
      say(404, { kind: 'Status', code: 404 });
    else if (request.headers.authorization !== `Bearer ${await ownToken}`) say(401, { kind: 'Status', code: 401 });
    else if (!this.mayReview)
      say(403, { kind: 'Status', code: 403, message: 'tokenreviews.authentication.k8s.io is forbidden' });
    else {
      const { spec } = JSON.parse(Buffer.concat(chunks).toString()) as Review;
      this.reviews.push(spec);
      const audiences = this.known.get(spec.token)?.filter((one) => spec.audiences.includes(one)) ?? [];
      const status =
        audiences.length === 0
          ? { authenticated: false, error: `[invalid bearer token ${spec.token}]` }
          : { authenticated: true, user: account, audiences };
      say(201, { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', metadata: {}, spec, status });
    }
  }
}

let ownToken: Promise<string>;

const token = (claims = {}): Promise<string> => issuer.token({ sub: account.username, aud: [audience], ...claims });

async function verify(bearer: string): Promise<Verdict> {
  return authenticator.authenticate(
    { headers: { authorization: `Bearer ${bearer}` }, rawHeaders: [] },
    { url: '/mcp', endpoint: rootEndpoint, peer: '127.0.0.1', address: () => '127.0.0.1' },
  );
}

/** @param path of the API server. */
function open(path = ''): Promise<Authenticator> {
  return Authenticator.open({
    issuers: [],
    resource: { publicUrl: 'https://mcp.example.com', audience: [], scopes: ['mcp'] },
    warn: ({ problem }) => warnings.push(String(problem)),
    kubernetes: {
      apiServer: `https://127.0.0.1:${(api.server.address() as AddressInfo).port}${path}`,
      caFile: authority.caFile,
      tokenFile,
    },
  });
}

beforeEach(async () => {
  warnings = [];
  [authority, issuer] = await Promise.all([TestAuthority.create(), StandInIssuer.start()]);
  api = new ApiServer(await authority.issue(forLoopback));
  api.server.listen(0, '127.0.0.1');
  await once(api.server, 'listening');
  ownToken = issuer.token({ sub: 'system:serviceaccount:omnibus:gateway', aud: 'https://kubernetes.default.svc' });
  tokenFile = join(authority.folder, 'token');
  await writeFile(tokenFile, `${await ownToken}\n`);
  authenticator = await open();
});

afterEach(async () => {
  await authenticator.close();
  api.server.closeAllConnections();
  api.server.close();
  await issuer[Symbol.asyncDispose]();
  await authority[Symbol.asyncDispose]();
});

describe('a token of a service account', () => {
  it('is asked about once, and its account and groups are the caller until it expires', async () => {
    const bearer = await token();
    api.known.set(bearer, [audience]);
    const [first, second] = await Promise.all([verify(bearer), verify(bearer)]);
    expect(first).toMatchObject({
      issuer: issuer.issuer,
      subject: account.username,
      groups: account.groups,
      scopes: [],
    });
    expect('expiresAt' in first && typeof first.expiresAt).toBe('number');
    expect(await verify(bearer)).toEqual(second);
    expect(api.reviews).toEqual([{ token: bearer, audiences: [audience] }]);
  });

  it.each(['/k8s/clusters/c-1', '/k8s/clusters/c-1/'])(
    'is asked about under the path of an API server behind a proxy: %s',
    async (path) => {
      api.prefix = '/k8s/clusters/c-1';
      await authenticator.close();
      authenticator = await open(path);
      const bearer = await token();
      api.known.set(bearer, [audience]);
      expect(await verify(bearer)).toMatchObject({ subject: account.username });
    },
  );

  it('that the cluster does not know, or is for somebody else, proves nobody, and nothing of it is repeated', async () => {
    const [gone, foreign] = [await token({ jti: 'gone' }), await token({ aud: ['https://kubernetes.default.svc'] })];
    api.known.set(foreign, ['https://kubernetes.default.svc']);
    const refused = [await verify(gone), await verify(foreign)];
    expect(refused).toMatchObject([
      { fault: { reason: 'auth.invalid', message: expect.stringContaining('does not know it') as string } },
      {
        fault: {
          reason: 'auth.invalid',
          message: expect.stringContaining('and not for https://mcp.example.com/mcp') as string,
        },
      },
    ]);
    expect(JSON.stringify(refused)).not.toContain(gone.slice(0, 30));
  });

  it('of another issuer is never shown to the API server', async () => {
    await using other = await StandInIssuer.start();
    expect(await verify(await other.token({ sub: 'ann', aud: audience }))).toMatchObject({
      fault: {
        reason: 'auth.invalid',
        message: expect.stringContaining('whose tokens are not accepted here') as string,
      },
    });
    expect(api.reviews).toEqual([]);
  });

  it('is neither valid nor invalid while the API server does not answer, and the log has the reason, once for many', async () => {
    const unasked = {
      fault: { reason: 'auth.unavailable', message: 'the API server of the cluster cannot be asked about tokens now' },
    };
    api.mayReview = false;
    expect(await verify(await token())).toMatchObject(unasked);
    expect(warnings).toEqual([expect.stringContaining('system:auth-delegator')]);
    api.isBroken = true;
    const bearer = await token({ jti: '2' });
    expect(await verify(bearer)).toMatchObject(unasked);
    expect(warnings).toHaveLength(1);
    [api.mayReview, api.isBroken] = [true, false];
    api.known.set(bearer, [audience]);
    expect(await verify(bearer)).toMatchObject({ subject: account.username });
  });

  it('is asked about again when the API server has closed the connection that was kept from before', async () => {
    const [first, second] = [await token(), await token({ jti: '2' })];
    for (const bearer of [first, second]) api.known.set(bearer, [audience]);
    expect(await verify(first)).toMatchObject({ subject: account.username });
    api.dropsNext = true;
    expect(await verify(second)).toMatchObject({ subject: account.username });
    expect([api.reviews.length, warnings]).toEqual([2, []]);
  });

  it('is asked about with the token of the gateway and the authority that are in the files now; one that has expired is named', async () => {
    const replaced = await issuer.token({
      sub: 'system:serviceaccount:omnibus:gateway',
      aud: 'https://kubernetes.default.svc',
      jti: 'next',
    });
    const bearer = await token();
    api.known.set(bearer, [audience]);
    ownToken = Promise.resolve(replaced);
    expect(await verify(bearer)).toMatchObject({ fault: { reason: 'auth.unavailable' } });
    expect(warnings).toEqual([expect.stringContaining('the token in auth.kubernetes.tokenFile is not accepted')]);
    await writeFile(tokenFile, replaced);
    expect(await verify(bearer)).toMatchObject({ subject: account.username });
  });

  it('is shown to nobody whose certificate is not of the authority of the cluster', async () => {
    await using other = await TestAuthority.create('other');
    await writeFile(authority.caFile, await other.ca());
    expect(await verify(await token())).toMatchObject({ fault: { reason: 'auth.unavailable' } });
    expect(api.reviews).toEqual([]);
  });
});

it('without a token of its own the gateway does not start, and says which file it looked for', async () => {
  const kubernetes = { apiServer: 'https://127.0.0.1:1', caFile: authority.caFile, tokenFile: `${tokenFile}.not` };
  await expect(Authenticator.open({ issuers: [], warn: () => undefined, kubernetes })).rejects.toThrow(
    `${tokenFile}.not`,
  );
});
