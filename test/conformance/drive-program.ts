/**
 * The steps of the scenarios about programs and about tokens that are bound to a key, with the gateway in all three roles at once: its authorization server
 * gives the driver a token in the way of the scenario, the gateway serves this token, and it is the client of the suite's server. So the suite judges a client
 * whose own caller is known in the same way.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  ClientCredentialsProvider,
  DpopSession,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client';
import { decodeJwt, type JWK } from 'jose';
import { expect, vi } from 'vitest';
import { formatAgents, newAgentId, newSecret, type AgentRecord } from '@omnibus/authorization';
import { StandInIssuer } from '@omnibus/identity/testing';
import { signInName } from '@omnibus/protocol';
import { Balancer } from '../support/balancer.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import type { Shape } from '../support/gateway.ts';
import { SdkUser } from '../support/sdk-user.ts';
import { Browser } from '../support/sign-in.ts';
import { writeUsers } from '../support/users.ts';
import { Callback } from '../support/walker.ts';
import { inFrontOf } from './drive-sign-in.ts';
import type { Drive } from './driver.ts';

const ann = { name: 'ann', password: 'correct horse battery' };
const issuerOfPods = 'system:serviceaccount:ci:builder';

/** A caller of the gateway. */
interface Caller {
  connect(client: Client): Promise<void>;
  /** Its access token, after it has connected. */
  token(): string;
  /** Opens an address that a call has named; left out for a program, which has no browser. */
  readonly open?: (address: string) => Promise<void>;
}

interface Scene {
  /** The address of the gateway for all of its callers. */
  readonly base: string;
  readonly agents: Agents;
  readonly pods: StandInIssuer;
  readonly answers: Callback;
}

/** The agents of the gateway and their proofs. */
interface Agents {
  readonly secret: string;
  readonly key: string;
  readonly text: string;
}

function makeAgents(): Agents {
  const { secret, record } = newSecret();
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const agent = (name: string, proof: Partial<AgentRecord>): AgentRecord => ({
    name,
    id: newAgentId(),
    owner: 'ann',
    groups: [],
    scopes: [],
    secrets: [],
    keys: [],
    created: new Date().toISOString(),
    round: 0,
    ...proof,
  });
  return {
    secret,
    key: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
    text: formatAgents([
      agent('with-secret', { secrets: [record] }),
      agent('with-key', { keys: [pair.publicKey.export({ format: 'jwk' }) as JWK & { kty: string }] }),
      agent('pod', { isWorkload: true }),
    ]),
  };
}

const address = (base: string): URL => new URL(`${base}/mcp`);

function byProvider(base: string, provider: OAuthClientProvider): Caller {
  return {
    connect: (client) => client.connect(new StreamableHTTPClientTransport(address(base), { authProvider: provider })),
    token: () => (provider.tokens() as { readonly access_token: string }).access_token,
  };
}

/** A workload sends the token of its platform (RFC 7523), for which the SDK has no helper. */
function byAssertion({ base, pods }: Scene): Caller {
  let token = '';
  return {
    async connect(client) {
      const response = await fetch(`${base}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          assertion: await pods.token({ sub: issuerOfPods, aud: base }, { typ: 'JWT' }),
        }),
      });
      const said = (await response.json()) as { readonly access_token?: string };
      expect(said).toMatchObject({ token_type: 'Bearer', access_token: expect.any(String) as string });
      token = said.access_token as string;
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(address(base), { requestInit }));
    },
    token: () => token,
  };
}

/** A user whose tokens are bound to a key of the client. */
class BoundUser extends SdkUser {
  readonly #session = DpopSession.create();
  dpop = (): Promise<DpopSession> => this.#session;
}

function byKey({ base, answers }: Scene): Caller {
  const browser = new Browser();
  const visit = async (to: URL): Promise<void> => {
    const page = await browser.submit(await browser.open(to.href), '/login', { ...ann });
    await browser.submit(page, '/consent');
  };
  const walker = { kind: 'fetch' as const, complaints: [], visit, [Symbol.asyncDispose]: () => Promise.resolve() };
  const user = new BoundUser({ answers, walker }, ann);
  return {
    async connect(client) {
      const first = new StreamableHTTPClientTransport(address(base), { authProvider: user });
      await expect(new Client({ name: 'first', version: '1' }).connect(first)).rejects.toThrow();
      await first.finishAuth((await user.answer()).searchParams);
      await client.connect(new StreamableHTTPClientTransport(address(base), { authProvider: user }));
    },
    token: () => (user.tokens() as { readonly access_token: string }).access_token,
    async open(to) {
      await browser.open(to);
      const page = await browser.open(to, undefined, {});
      expect(page.text).toContain('You are signed in');
    },
  };
}

function callerOf(scenario: string, scene: Scene): Caller {
  const { base, agents } = scene;
  switch (scenario) {
    case 'auth/client-credentials-basic':
      return byProvider(
        base,
        new ClientCredentialsProvider({
          clientId: 'agent-with-secret',
          clientSecret: agents.secret,
          expectedIssuer: base,
        }),
      );
    case 'auth/client-credentials-jwt':
      return byProvider(
        base,
        new PrivateKeyJwtProvider({
          clientId: 'agent-with-key',
          privateKey: agents.key,
          algorithm: 'ES256',
          expectedIssuer: base,
        }),
      );
    case 'auth/wif-jwt-bearer':
      return byAssertion(scene);
    default:
      return byKey(scene);
  }
}

/** The address that an error of a call asks its user to open (-32042). */
function addressIn(error: unknown): string {
  const { data } = error as { readonly data?: { readonly elicitations?: readonly { readonly url: string }[] } };
  const found = data?.elicitations?.[0]?.url;
  if (found === undefined) throw error;
  return found;
}

/** Calls each tool of the suite's server; the caller signs in there first if the server wants that. */
async function callAll(client: Client, caller: Caller): Promise<readonly unknown[]> {
  const names = async (isOpen: boolean): Promise<readonly string[]> =>
    (await client.listTools()).tools.map(({ name }) => name).filter((name) => isOpen || !name.endsWith(signInName));
  const some = (isOpen: boolean): Promise<readonly string[]> => {
    return vi.waitFor(
      async () => {
        const found = await names(isOpen);
        expect(found).not.toEqual([]);
        return found;
      },
      { timeout: 60_000 },
    );
  };
  if (caller.open !== undefined) {
    const [name = ''] = await some(true);
    const refused: unknown = await client.callTool({ name, arguments: {} }).catch((error: unknown) => error);
    await caller.open(addressIn(refused));
  }
  const all = await some(false);
  return Promise.all(all.map((name) => client.callTool({ name, arguments: {} })));
}

/** @param shape of the gateway. Over NATS it has two edges, which get requests in turn. */
export function driveProgram(shape: Shape): Drive {
  return async (started, print) => {
    const { scenario } = started;
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-programs-'));
    const stack = new AsyncDisposableStack();
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await using _all = stack;
    const front = stack.use(await Balancer.start());
    const pods = stack.use(await StandInIssuer.start());
    const answers = stack.use(await Callback.start());
    const agents = makeAgents();
    await writeFile(join(folder, 'agents.yaml'), agents.text);
    await writeUsers(join(folder, 'users.yaml'), ann.password, ann.name);
    const isBound = scenario.startsWith('auth/dpop');
    const gateway = stack.use(
      await startGatewayHere(shape, {
        publicUrl: front.url,
        auth: {
          dpop: { required: isBound, nonce: scenario === 'auth/dpop-nonce' },
          server: {
            users: { file: join(folder, 'users.yaml') },
            agents: { file: join(folder, 'agents.yaml') },
            workloads: [{ agent: 'pod', issuer: pods.issuer, subject: 'system:serviceaccount:ci:*' }],
          },
        },
        ...(await inFrontOf(started, shape, folder)),
      }),
    );
    front.edges = shape === 'embedded' ? [gateway.url] : [gateway.url, await gateway.startEdge()];
    const caller = callerOf(scenario, { base: front.url, agents, pods, answers });
    const client = new Client({ name: 'driver', version: '1' }, { capabilities: { elicitation: { url: {} } } });
    await caller.connect(client);
    print(`${scenario}: ${JSON.stringify(await callAll(client, caller))}`);
    const claims = decodeJwt(caller.token());
    expect(claims.iss).toBe(front.url);
    if (isBound) expect(claims['cnf']).toMatchObject({ jkt: expect.any(String) as string });
    await client.close();
  };
}
