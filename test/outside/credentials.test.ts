/** A server that demands tokens, an issuer, and a user of this machine that signs in on request. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { signInAt } from '../support/browse.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';

/** All secrets so far. */
const secrets: string[] = [];
const secret = (kind: string): string => {
  const made = `${kind}-${randomBytes(12).toString('hex')}`;
  secrets.push(made);
  return made;
};

/** A server that is its own issuer. Each sign-in gives new tokens, and a refresh token is valid once. */
class WantingServer implements AsyncDisposable {
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #access = '';
  #refresh = '';
  /** Number of tool calls. */
  uses = 0;

  static async start(): Promise<WantingServer> {
    const server = new WantingServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The access token expires; the refresh token stays valid. */
  forgetAccess(): void {
    this.#access = secret('never-given');
  }

  /** All tokens are revoked. */
  revoke(): void {
    this.forgetAccess();
    this.#refresh = secret('never-given');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const json = (status: number, value: object, headers: Readonly<Record<string, string>> = {}): void =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    const { origin } = this;
    const url = new URL(request.url ?? '/', origin);
    switch (url.pathname) {
      case '/meta':
        return json(200, { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ['use'] });
      case '/.well-known/oauth-authorization-server':
        return json(200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
        });
      case '/register':
        return json(201, { client_id: 'registered', client_secret: secret('client'), ...(JSON.parse(body) as object) });
      case '/authorize': {
        const to = new URL(url.searchParams.get('redirect_uri') ?? '');
        for (const [name, value] of [
          ['code', secret('code')],
          ['state', url.searchParams.get('state') ?? ''],
          ['iss', origin],
        ] as const)
          to.searchParams.set(name, value);
        return void response.writeHead(302, { location: to.href }).end();
      }
      case '/token': {
        const form = new URLSearchParams(body);
        if (form.get('grant_type') === 'refresh_token' && form.get('refresh_token') !== this.#refresh)
          return json(400, { error: 'invalid_grant' });
        [this.#access, this.#refresh] = [secret('access'), secret('refresh')];
        return json(200, {
          access_token: this.#access,
          refresh_token: this.#refresh,
          token_type: 'Bearer',
          expires_in: 3_600,
        });
      }
      case '/mcp':
        break;
      default:
        return json(404, {});
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    if (request.headers.authorization !== `Bearer ${this.#access}`)
      return json(401, { error: 'invalid_token' }, { 'www-authenticate': `Bearer resource_metadata="${origin}/meta"` });
    const { id, method, params } = JSON.parse(body) as {
      readonly id?: number;
      readonly method: string;
      readonly params?: { readonly protocolVersion?: string };
    };
    if (id === undefined) return void response.writeHead(202).end();
    const answer = (result: object): void => json(200, { jsonrpc: '2.0', id, result });
    switch (method) {
      case 'initialize':
        return answer({
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'wanting', version: '1' },
        });
      case 'tools/list':
        return answer({ tools: [{ name: 'act', inputSchema: { type: 'object' } }] });
      case 'tools/call':
        this.uses += 1;
        return answer({ content: [{ type: 'text', text: `done ${this.uses}` }] });
      default:
        return json(200, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'no such method' } });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.#server[Symbol.asyncDispose]();
  }
}

const stack = new AsyncDisposableStack();
let server: WantingServer;
let gateway: GatewayHere;
let vault: string;
let client: RawClient;

beforeAll(async () => {
  server = stack.use(await WantingServer.start());
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-vault-'));
  stack.defer(() => rm(folder, { recursive: true }));
  vault = join(folder, 'vault.json');
  gateway = stack.use(
    await startGatewayHere('embedded', {
      log: { format: 'json', level: 'debug' },
      vault: { file: vault },
      mcpServers: {
        wanting: {
          url: `${server.origin}/mcp`,
          restart: { minDelay: '50ms', maxDelay: '100ms' },
          credentials: { kind: 'oauth' },
        },
      },
    }),
  );
  client = stack.use(await RawClient.open(gateway.url));
});
afterAll(() => stack.disposeAsync());

/** The address that a call returns for the sign-in. */
async function addressFor(tool: string): Promise<string> {
  const { last } = await client.callTool(tool);
  expect(last.result?.['isError']).toBe(true);
  return /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(JSON.stringify(last.result))?.[0] ?? '';
}

it('before the user has signed in, a server shows one tool, which names the address of the sign-in', async () => {
  expect(await client.untilTools((names) => names.length > 0)).toEqual(['connect']);
  expect(await addressFor('connect')).not.toBe('');
});

it('a client that calls a tool which it has kept from before is told where to sign in, and then calls it', async () => {
  expect(await addressFor('act')).not.toBe('');
  expect(server.uses).toBe(0);
});

it("the issuer's answer is refused from a browser other than the one that began the sign-in", async () => {
  const address = await addressFor('connect');
  let callback = '';
  // The first browser stops before it is redirected back.
  await signInAt(address, (to) => {
    if (to.includes('/connect/callback')) callback = to;
    return to.includes('/connect/callback') ? `${new URL(to).origin}/connect/nothing` : to;
  });
  const page = await fetch(callback);
  expect(page.status).toBe(400);
  expect(await page.text()).toContain('begun in another browser');
});

it("a user who has signed in can use the server's tools, and the address of the sign-in is invalid", async () => {
  const address = await addressFor('connect');
  expect(await signInAt(address)).toMatchObject({
    status: 200,
    text: expect.stringContaining('You are signed in') as string,
  });
  expect(await client.untilTools((names) => !names.includes('connect'))).toEqual(['act']);
  expect((await client.callTool('act')).last.result?.['content']).toEqual([{ type: 'text', text: 'done 1' }]);
  expect((await signInAt(address)).status).toBe(404);
});

it('a token that is revoked before it expires is replaced, and the call that was refused with it is executed once', async () => {
  server.forgetAccess();
  expect((await client.callTool('act')).last.result?.['content']).toEqual([{ type: 'text', text: 'done 2' }]);
});

it('a user who has revoked all tokens at the server is told where to sign in again, and can then go on', async () => {
  server.revoke();
  const address = await addressFor('act');
  expect((await signInAt(address)).status).toBe(200);
  await expect
    .poll(async () => (await client.callTool('act')).last.result?.['content'])
    .toEqual([{ type: 'text', text: 'done 3' }]);
});

it('no secret is in logs, status or metrics, or in plain text on the disk', async () => {
  const admin = await gateway.admin(gateway.backend);
  const [status, metrics, disk] = await Promise.all([
    fetch(`http://${admin}/status`).then((said) => said.text()),
    fetch(`http://${admin}/metrics`).then((said) => said.text()),
    readFile(vault, 'utf8'),
  ]);
  const written = [gateway.backend.output(), status, metrics, disk].join('\n');
  expect(secrets.length).toBeGreaterThan(6);
  expect(secrets.filter((each) => written.includes(each))).toEqual([]);
});
