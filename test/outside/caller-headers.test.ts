/** A server that gets the caller's identity in headers, and trusts the gateway alone. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StandInIssuer } from '@omnibus/identity/testing';
import { shapesOfLane } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { StandInServer } from '../support/stand-in-server.ts';

/** Refuses every request without a user, lists a tool of each user's own, and notes requests in the session of another user. */
class TellingServer extends StandInServer {
  readonly #sessions = new Map<string, string>();
  readonly violations: string[] = [];
  calls = 0;

  static start(): Promise<TellingServer> {
    return new TellingServer().listen();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const user = request.headers['x-user'] as string | undefined;
    if (request.method !== 'POST') return void response.writeHead(405).end();
    if (user === undefined) return void response.writeHead(403).end('who is it?');
    const session = request.headers['mcp-session-id'] as string | undefined;
    if (session !== undefined && this.#sessions.get(session) !== user)
      this.violations.push(`${user} in the session of ${this.#sessions.get(session) ?? 'nobody'}`);
    const { id, method } = JSON.parse(body) as { readonly id?: number; readonly method: string };
    const answer = (result: object, headers: Readonly<Record<string, string>> = {}): void =>
      void response
        .writeHead(200, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'initialize') {
      const made = randomBytes(12).toString('hex');
      this.#sessions.set(made, user);
      return answer(
        { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'telling', version: '1' } },
        { 'mcp-session-id': made },
      );
    }
    if (method === 'tools/list')
      return answer({
        tools: ['told', `of_${user.replaceAll(/\W/g, '_')}`].map((name) => ({ name, inputSchema: { type: 'object' } })),
      });
    if (method === 'tools/call') {
      this.calls += 1;
      const { 'x-user': _user, 'x-mail': mail, 'x-groups': groups, authorization } = request.headers;
      return answer({ content: [{ type: 'text', text: JSON.stringify({ user, mail, groups, authorization }) }] });
    }
    return void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no such method' } }));
  }
}

const toldIn = ({ last }: Answer): unknown => {
  const said = (last.result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text;
  return said === undefined ? last.error : JSON.parse(said);
};

describe.each(shapesOfLane)('%s,', (shape) => {
  const stack = new AsyncDisposableStack();
  let server: TellingServer;
  let url: string;
  let issuer: StandInIssuer;
  let keys: Keys;
  const headersOf = async (sub: string, claims: object = {}): Promise<Readonly<Record<string, string>>> => ({
    authorization: `Bearer ${await issuer.token({ sub, aud: 'http://gateway.example/mcp', ...claims })}`,
  });

  beforeAll(async () => {
    server = stack.use(await TellingServer.start());
    issuer = stack.use(await StandInIssuer.start());
    keys = stack.use(await Keys.make('robot'));
    const restart = { minDelay: '50ms', maxDelay: '200ms' };
    const named = {
      'X-User': '{principal.subject}',
      'X-Mail': '{principal.claims.email}',
      'X-Groups': '{principal.groups}',
      Authorization: 'Bearer of-the-team',
    };
    const gateway = stack.use(
      await startGatewayHere(shape, {
        publicUrl: 'http://gateway.example',
        auth: {
          ...keys.auth,
          audience: ['http://gateway.example/mcp'],
          issuers: [{ issuer: issuer.issuer, claims: ['email'] }],
        },
        mcpServers: {
          strict: { url: server.url, restart, headers: named },
          lenient: { url: server.url, restart, absentFacts: 'omit', headers: named },
        },
      }),
    );
    url = gateway.url;
  });
  afterAll(() => stack.disposeAsync());

  it('each caller is named to the server, sees the lists that it shows to him, and shares no connection, while many call at once', async () => {
    const [ann, ben] = await Promise.all(
      ['ann', 'ben'].map(async (sub) =>
        RawClient.open(
          url,
          '2025-11-25',
          await headersOf(sub, { email: `${sub}@example.com`, groups: ['staff', sub] }),
        ),
      ) as [Promise<RawClient>, Promise<RawClient>],
    );
    stack.use(ann);
    stack.use(ben);
    expect(
      (await ann.untilTools((names) => names.includes('strict__told') && names.includes('lenient__told'))).toSorted(),
    ).toEqual(['lenient__of_ann', 'lenient__told', 'strict__of_ann', 'strict__told']);
    await ben.untilTools((names) => names.includes('strict__of_ben') && names.includes('lenient__of_ben'));
    const modern = stack.use(
      new ModernClient(url, {}, await headersOf('ann', { email: 'ann@example.com', groups: ['staff', 'ann'] })),
    );
    const told = (user: string): object => ({
      user,
      mail: `${user}@example.com`,
      groups: `staff,${user}`,
      authorization: 'Bearer of-the-team',
    });
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        expect(toldIn(await ann.callTool('strict__told'))).toEqual(told('ann'));
        expect(toldIn(await ben.callTool('strict__told'))).toEqual(told('ben'));
        expect(toldIn(await modern.call('strict__told'))).toEqual(told('ann'));
      }),
    );
    expect(server.violations).toEqual([]);
  });

  it('a caller of whom other facts are proven is named by these at once', async () => {
    using before = await RawClient.open(
      url,
      '2025-11-25',
      await headersOf('cid', { email: 'cid@example.com', groups: ['staff'] }),
    );
    await before.untilTools((names) => names.includes('strict__told'));
    expect(toldIn(await before.callTool('strict__told'))).toMatchObject({ groups: 'staff' });
    using after = new RawClient(url, await headersOf('cid', { email: 'cid@example.com', groups: ['staff', 'admins'] }));
    after.session = before.session;
    expect(toldIn(await after.callTool('strict__told'))).toMatchObject({ user: 'cid', groups: 'staff,admins' });
    expect(server.violations).toEqual([]);
  });

  it('a caller without a fact is told which one is missing, or called for without its header', async () => {
    using robot = await RawClient.open(url, '2025-11-25', keys.headersOf('robot'));
    await robot.untilTools((names) => names.includes('lenient__told'));
    expect(toldIn(await robot.callTool('lenient__told'))).toEqual({
      user: 'robot',
      authorization: 'Bearer of-the-team',
    });
    const before = server.calls;
    expect(await robot.toolNames()).toEqual(expect.arrayContaining(['strict__connect']));
    expect(toldIn(await robot.callTool('strict__connect'))).toMatchObject({
      message: expect.stringContaining(
        'in the header "X-Mail", by the fact "claims.email": the caller has no such fact',
      ) as string,
      data: { reason: 'upstream.caller_fact', header: 'X-Mail', fact: 'claims.email', server: 'strict' },
    });
    expect(server.calls).toBe(before);
  });

  it('a fact that would add a header reaches no server, and is not repeated', async () => {
    using eve = await RawClient.open(
      url,
      '2025-11-25',
      await headersOf('eve', { email: 'eve@example.com\r\nX-User: ann', groups: ['staff'] }),
    );
    expect((await eve.untilTools((names) => names.length === 2)).toSorted()).toEqual([
      'lenient__connect',
      'strict__connect',
    ]);
    const [strict, lenient] = [await eve.callTool('strict__connect'), await eve.callTool('lenient__connect')];
    for (const answer of [strict, lenient]) {
      expect(toldIn(answer)).toMatchObject({ data: { reason: 'upstream.caller_fact', fact: 'claims.email' } });
      expect(answer.body).not.toContain('eve@example.com');
    }
  });
});
